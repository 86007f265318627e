package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// rows8 loads four rows of eight bytes into a register, in the order of codes.
func rows8(base Register, index [4]Register) VecVirtual {
	at := func(i int) Mem { return Mem{Base: base, Index: index[i], Scale: 8} }
	low := Into(XMM(), VMOVQ, at(0))
	VMOVHPS(at(2), low, low)
	high := Into(XMM(), VMOVQ, at(1))
	VMOVHPS(at(3), high, high)
	return Into(YMM(), VINSERTI128, Imm(1), high, low.AsY())
}

// words4 loads four words of group i.
func (g *groups) words4(m Mem, i int) [4]Register { return g.four(m, i, 2, MOVWQZX) }

// four loads four numbers of size bytes, from eight bytes for each group.
func (g *groups) four(m Mem, i, size int, load func(Op, Op)) (out [4]Register) {
	for j := range out {
		out[j] = Into(GP64(), load, g.at(m.Offset(size*j), 8, i))
	}
	return out
}

// dByScale computes d*(half+s)*factor for eight scales in dwords; without a half,
// d*(1+2s). To F32 and F16 scales are negated, else NaN would not be FFC00000.
func (k *kernel) dByScale(s VecVirtual, d VecVirtual, half, factor float32) {
	if half == 0 {
		VPADDD(s, s, s)
		VPADDD(Dwords(1), s, s)
		times(s, d)
	} else {
		VCVTDQ2PS(s, s)
		VADDPS(Floats(half), s, s)
		VMULPS(d, s, s)
	}
	if factor != 1 {
		VMULPS(Floats(factor), s, s)
	}
	if k.Wide {
		k.negated(s)
	} else {
		canonical(s)
	}
}

// nibbleScales unpacks 4-bit scales, eight in each word.
func (k *kernel) nibbleScales(off, n int, d VecVirtual, half, factor float32) scales {
	s := k.scales(n)
	for i := 0; i < n; i += 8 {
		word, y := GP64(), YMM()
		MOVL(k.From(off+i/2), word.As32())
		VPMOVZXBD(spread(word, 0x0F0F0F0F0F0F0F0F), y)
		k.dByScale(y, d, half, factor)
		s.keep(i, y)
	}
	return s
}

// A signed is the numbers of a block from rows of magnitudes and sign sets. To BF16 the
// few magnitudes are rounded once under each scale and looked up by code; otherwise rows
// hold the magnitudes.
type signed struct {
	*kernel
	s     scales
	t     smallTables
	minus VecVirtual // 80 in each byte; zero where the scales are NaN
	pairs bool       // two scales for each 32
}

func (k *kernel) signed(s scales, n int, d VecVirtual, magnitudes ...float32) signed {
	g := signed{kernel: k, s: s, pairs: n == 16}
	if k.Wide {
		return g
	}
	g.minus = Into(YMM(), VCMPPS, Imm(7), d, d)
	VPAND(Bytes32(0x80), g.minus, g.minus)
	g.t = k.smallTables(len(magnitudes), n)
	for i := range n / 8 {
		of := Load32(s.at.Offset(32 * i))
		g.t.build(k, i, true, func(q int) VecVirtual {
			if magnitudes[q] == 0 {
				return nil
			}
			return Into(YMM(), VMULPS, Floats(-magnitudes[q]), of)
		})
	}
	return g
}

// write writes group i from a row and the sign sets at sets.
func (g signed) write(r *groups, i int, codes VecVirtual, sets Mem) {
	minus := g.setBits(r.at(sets, 4, i))
	if g.Wide {
		VPXOR(minus, codes, codes)
		VPSUBB(minus, codes, codes)
		if g.pairs {
			g.scaled(32*i, codes, r.of(g.s, 2, i, 0), r.of(g.s, 2, i, 1))
		} else {
			of := r.of(g.s, 1, i, 0)
			g.scaled(32*i, codes, of, of)
		}
		return
	}
	VPAND(g.minus, minus, minus)
	var l tables16
	if g.pairs {
		l = g.t.ofTwo(r, i, codes)
	} else {
		l = g.t.of(r, i)
	}
	g.lookupSigned(32*i, codes, minus, l)
}

// All magnitudes of IQ2 have different upper bits of their lower nibbles.
func (k *kernel) signed2(s scales, n int, d VecVirtual) signed {
	return k.signed(s, n, d, 8, 25, 0, 43)
}

func iq2XXS(k *kernel) {
	d, s := k.half(0), k.scales(8)
	a := Into(YMM(), VMOVUPS, k.From(2))
	b := Into(YMM(), VMOVUPS, k.From(34))
	VSHUFPS(Imm(0xDD), b, a, a)
	VPERMQ(Imm(quads), a, a)
	sets := k.evenSets(sevenBits(a))
	VPSRLD(Imm(28), a, a)
	k.dByScale(a, d, 0.5, 0.25)
	s.keep(0, a)
	grid, g := Address("iq2xxsGrid"), k.signed2(s, 8, d)
	k.grids(k.roundOfRows(), func(r *groups, i int) VecVirtual { return rows8(grid, r.four(k.From(2), i, 1, MOVBQZX)) },
		func(r *groups, i int, codes VecVirtual) { g.write(r, i, codes, sets) })
}

// nines splits 32 words into indices of nine bits and sign sets.
func (k *kernel) nines(off int) (indices, sets Mem) {
	var seven [2]VecVirtual
	indices = k.Local(64)
	for i := range seven {
		y := Load32(k.From(off + 32*i))
		seven[i] = Into(YMM(), VPSRLW, Imm(9), y)
		VPAND(Words(511), y, y)
		VMOVDQU(y, indices.Offset(32*i))
	}
	VPACKUSWB(seven[1], seven[0], seven[0])
	VPERMQ(Imm(quads), seven[0], seven[0])
	return indices, k.evenSets(seven[0])
}

func iq2XS(k *kernel) {
	indices, sets := k.nines(2)
	d := k.half(0)
	s := k.nibbleScales(66, 16, d, 0.5, 0.25)
	grid, g := Address("iq2xsGrid"), k.signed2(s, 16, d)
	k.grids(k.roundOfRows(), func(r *groups, i int) VecVirtual { return rows8(grid, r.words4(indices, i)) },
		func(r *groups, i int, codes VecVirtual) { g.write(r, i, codes, sets) })
}

func iq2S(k *kernel) {
	indices := k.indices(32, 2, 66, fieldsOfBytes(4, 2, 3), false)
	d := k.half(0)
	s := k.nibbleScales(74, 16, d, 0.5, 0.25)
	grid, g := Address("iq2sGrid"), k.signed2(s, 16, d)
	k.grids(k.roundOfRows(), func(r *groups, i int) VecVirtual { return rows8(grid, r.words4(indices, i)) },
		func(r *groups, i int, codes VecVirtual) { g.write(r, i, codes, k.From(34)) })
}

// rows4 loads eight rows of four bytes into a register, in the order of codes.
func rows4(base Register, index func(i int) Register) VecVirtual {
	var halves [2]VecVirtual
	for i := range halves {
		x := XMM()
		for j := range 4 {
			m := Mem{Base: base, Index: index(j/2*4 + i*2 + j%2), Scale: 4}
			if j == 0 {
				VMOVD(m, x)
			} else {
				VPINSRD(Imm(uint64(j)), m, x, x)
			}
		}
		halves[i] = x
	}
	return Into(YMM(), VINSERTI128, Imm(1), halves[1], halves[0].AsY())
}

// grid4 loads the address of a grid of rows of four: of codes to BF16, else of magnitudes.
func (k *kernel) grid4(name string) Register {
	if k.Wide {
		return Address(name + "Grid")
	}
	return Address(name + "Codes")
}

func iq3XXS(k *kernel) {
	d, s := k.half(0), k.scales(8)
	words := Load32(k.From(66))
	sets := k.evenSets(sevenBits(words))
	VPSRLD(Imm(28), words, words)
	k.dByScale(words, d, 0.5, 0.5)
	s.keep(0, words)
	grid, g := k.grid4("iq3xxs"), k.signed(s, 8, d, 4, 12, 20, 28, 36, 44, 52, 62)
	k.grids(k.roundOfCodes(2), func(r *groups, i int) VecVirtual {
		return rows4(grid, func(j int) Register {
			return Into(GP64(), MOVBQZX, r.at(k.From(2+j), 8, i))
		})
	}, func(r *groups, i int, codes VecVirtual) { g.write(r, i, codes, sets) })
}

func iq3S(k *kernel) {
	indices := k.indices(64, 2, 66, fieldsOfBytes(8, 1, 1), false)
	d := k.half(0)
	s := k.nibbleScales(106, 8, d, 0, 1)
	grid, g := k.grid4("iq3s"), k.signed(s, 8, d, 1, 3, 5, 7, 9, 11, 13, 15)
	k.grids(k.roundOfCodes(1), func(r *groups, i int) VecVirtual {
		return rows4(grid, func(j int) Register {
			return Into(GP64(), MOVWQZX, r.at(indices.Offset(2*j), 16, i))
		})
	}, func(r *groups, i int, codes VecVirtual) { g.write(r, i, codes, k.From(74)) })
}

// grids writes the loop over the eight groups of a block.
func (k *kernel) grids(round int, read func(r *groups, i int) VecVirtual, write func(r *groups, i int, codes VecVirtual)) {
	k.groupLoop(8, round, 2*round, 32, func(r *groups) {
		ahead(round, func(i int) VecVirtual { return read(r, i) }, func(i int, codes VecVirtual) { write(r, i, codes) })
	})
}

// roundOfRows returns the groups of a round for rows of eight: one where stores take longest.
func (k *kernel) roundOfRows() int {
	if k.float32() {
		return 1
	}
	return 2
}

// roundOfCodes returns that for rows of four: four where tables are in that order.
func (k *kernel) roundOfCodes(wide int) int {
	switch {
	case k.float32():
		return wide
	case k.Wide:
		return 2
	}
	return 4
}

// What the grid types keep in bits is taken apart for many elements at once, and
// waits in memory: indices of rows as words, sign sets as bytes.

// ofBits returns the constants of setBits.
func ofBits() []Mem { return []Mem{byteOfBit(), bitOfByte()} }

func bitOfByte() Mem { return Bytes32(1, 2, 4, 8, 16, 32, 64, 128) }

// byteOfBit is the index of the byte with each element's bit.
func byteOfBit() Mem {
	return Data([]byte{0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3})
}

// setBits returns FF for each element whose bit in the 32 at m is set.
func (k *kernel) setBits(m Mem) VecVirtual {
	y, bit := YMM(), k.constant(bitOfByte())
	VPBROADCASTD(m, y)
	VPSHUFB(k.constant(byteOfBit()), y, y)
	VPAND(bit, y, y)
	VPCMPEQB(bit, y, y)
	return y
}

// evenSets completes 32 sign sets to eight bits, the eighth of which makes the number of
// minus signs even, and stores them.
func (k *kernel) evenSets(y VecVirtual) Mem {
	odd, at := YMM(), k.Local(32)
	VPSRLW(Imm(4), y, odd)
	VPXOR(y, odd, odd)
	VPAND(Bytes32(0x0F), odd, odd)
	table := Into(YMM(), VMOVDQU, Bytes32(0, 0x80, 0x80, 0, 0x80, 0, 0, 0x80, 0x80, 0, 0, 0x80, 0, 0x80, 0x80, 0))
	VPSHUFB(odd, table, odd)
	VPOR(odd, y, y)
	VMOVDQU(y, at)
	return at
}

// sevenBits unpacks the four fields of seven bits of each dword to bytes.
func sevenBits(words VecVirtual) VecVirtual {
	y := Into(YMM(), VPAND, Dwords(0x7F), words)
	for i := range 3 {
		field := Into(YMM(), VPSLLD, Imm(uint64(i+1)), words)
		VPAND(Dwords(0x7F00<<(8*i)), field, field)
		VPOR(field, y, y)
	}
	return y
}

// A highBits says where the upper bits of sixteen indices are: the byte of each, a factor that
// moves its bits to bit at and above, and their mask there, which is above bit 8 by down.
type highBits struct {
	bytes  [16]byte
	factor [16]uint16
	mask   uint16
	down   uint64
}

// fieldsOfBytes is n fields of width bits in each byte, the first the lowest.
func fieldsOfBytes(n, width int, mask uint16) (h highBits) {
	for i := range 16 {
		h.bytes[i] = byte(i / n)
		h.factor[i] = 256 >> (i % n * width)
	}
	h.mask = mask << 8
	return h
}

// fieldsOfWords is four fields of three bits in each word.
func fieldsOfWords() (h highBits) {
	for i := range 16 {
		h.bytes[i] = byte(i / 4 * 2)
		h.factor[i] = 512 >> (i % 4 * 3)
	}
	h.mask, h.down = 7<<9, 1
	return h
}

// indices joins n bytes at low with their upper bits at high, and stores them as words.
func (k *kernel) indices(n, low, high int, h highBits, whole bool) Mem {
	var order []byte
	used := 0
	for _, b := range h.bytes {
		next := byte(0x80)
		if whole {
			next = b + 1
		}
		order = append(order, b, next)
		used = max(used, int(b)+1)
	}
	if whole {
		used++
	}
	at, shuffle, factor := k.Local(2*n), Load32(Data(order)), Load32(Words(h.factor[:]...))
	for i := 0; i < n; i += 16 {
		y, up := YMM(), YMM()
		VPMOVZXBW(k.From(low+i), y)
		switch used {
		case 2:
			VPBROADCASTW(k.From(high+i/8), up)
		case 4:
			VPBROADCASTD(k.From(high+i/4), up)
		default:
			VPBROADCASTQ(k.From(high+i/2), up)
		}
		VPSHUFB(shuffle, up, up)
		VPMULLW(factor, up, up)
		VPAND(Words(h.mask), up, up)
		if h.down > 0 {
			VPSRLW(Imm(h.down), up, up)
		}
		VPOR(up, y, y)
		VMOVDQU(y, at.Offset(2*i))
	}
	return at
}
