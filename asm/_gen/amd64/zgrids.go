package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A gridCodes gives each quarter of a block, 64 bytes, once and in order, and
// memory for it.
type gridCodes func(quarter int) (codes VecVirtual, way Mem)

// rows8Of is rows of eight bytes, which go through memory: each quarter is copied
// long before it is read, since a load over several young stores waits, and amid
// the arithmetic of the quarter before it.
func rows8Of(grid string, index func(i int, r Register)) gridCodes {
	at, base := AllocLocal(256), table(grid)
	copied := func(quarter int) {
		for i := 8 * quarter; i < 8*quarter+8; i++ {
			r := GP64()
			index(i, r)
			MOVQ(Mem{Base: base, Index: r, Scale: 8}, r)
			MOVQ(r, at.Offset(8*i))
		}
	}
	copied(0)
	return func(j int) (VecVirtual, Mem) {
		if j < 3 {
			copied(j + 1)
		}
		return zload(at.Offset(64 * j)), at.Offset(64 * j)
	}
}

// rows4Of is rows of four bytes, looked up in four planes of their bytes: one
// register has all indices of a block, and upper has those above 255 if the grid
// has 512 rows.
func rows4Of(planes string, index VecVirtual, upper OpmaskVirtual) gridCodes {
	// Unpacking, which works within quarters, gives the rows their order.
	order := dwordsOf(func(i int) int { return i%4*4 + i/4 })
	VPERMD(index, order, index)
	size, base, high := 256, table(planes), K()
	if upper != nil {
		size = 512
		x := ZMM()
		VPMOVM2B(upper, x)
		VPERMD(x, order, x)
		VPMOVB2M(x, upper)
	}
	VPMOVB2M(index, high)
	half := func(at int) VecVirtual {
		x, y := ZMM(), ZMM()
		m := Mem{Base: base, Disp: at}
		VMOVDQA64(index, x)
		VPERMI2B(m.Offset(64), zload(m), x)
		VMOVDQA64(index, y)
		VPERMI2B(m.Offset(192), zload(m.Offset(128)), y)
		VMOVDQU8(y, high, x)
		return x
	}
	var p [4]VecVirtual
	for i := range p {
		p[i] = half(i * size)
		if upper != nil {
			VMOVDQU8(half(i*size+256), upper, p[i])
		}
	}
	var out [4]VecVirtual
	for i := range out {
		out[i] = ZMM()
	}
	a, b, c, d := ZMM(), ZMM(), ZMM(), ZMM()
	VPUNPCKLBW(p[1], p[0], a)
	VPUNPCKHBW(p[1], p[0], b)
	VPUNPCKLBW(p[3], p[2], c)
	VPUNPCKHBW(p[3], p[2], d)
	VPUNPCKLWD(c, a, out[0])
	VPUNPCKHWD(c, a, out[1])
	VPUNPCKLWD(d, b, out[2])
	VPUNPCKHWD(d, b, out[3])
	return func(j int) (VecVirtual, Mem) { return out[j], AllocLocal(64) }
}

// wordsAt are indices of one word each.
func wordsAt(m Mem) func(i int, r Register) {
	return func(i int, r Register) { MOVWQZX(m.Offset(2*i), r) }
}

// signed8 writes the 256 elements of a block of rows: each is negative
// where its bit of 256 at signs is set. The i-th sixteen have scale of(i).
func (z *zkernel) signed8(rows gridCodes, signs Mem, s zscales, of func(i int) int) {
	zero := ZMM()
	VPXORD(zero, zero, zero)
	for j := range 4 {
		codes, way := rows(j)
		k := K()
		KMOVQ(signs.Offset(8*j), k)
		VPSUBB(codes, zero, k, codes)
		z.signed16(64*j, codes, way, s, func(i int) int { return of(4*j + i) })
	}
}

func perSixteen(i int) int   { return i }
func perThirtyTwo(i int) int { return i / 2 }

// byScale keeps d*(half+s)*factor for scales in dwords, or without a half
// d*(1+2s)*factor.
func (z *zkernel) byScale(s, d VecVirtual, half, factor float32) zscales {
	if half == 0 {
		VPADDD(s, s, s)
		VPADDD_BCST(dwords(1), s, s)
		ztimes(s, d)
	} else {
		VCVTDQ2PS(s, s)
		VADDPS_BCST(floats(half), s, s)
		VMULPS(d, s, s)
	}
	if factor != 1 {
		VMULPS_BCST(floats(factor), s, s)
	}
	z.settled(s)
	return zkeep(s)
}

// nibbleDwords is the nibbles of the first eight bytes of src, low ones first.
func nibbleDwords(src VecVirtual) VecVirtual {
	x := lanes(src, func(i int) int { return i / 2 }, func(i int) int { return i % 2 * 4 })
	VPANDD_BCST(dwords(15), x, x)
	return x
}

func eightBytes(m Mem) VecVirtual {
	x := ZMM()
	VPBROADCASTQ(m, x)
	return x
}

// evenSigned is the sign bytes of sets of seven signs in bytes, whose upper bit
// may be anything: the eighth makes the number of minuses even.
func evenSigned(sets VecVirtual) VecVirtual {
	half := func(first int) Mem {
		return bytes64(func(i int) int {
			v := first + i
			return v | (v^v>>1^v>>2^v>>3^v>>4^v>>5^v>>6)&1<<7
		})
	}
	VPERMI2B(half(64), zload(half(0)), sets)
	return sets
}

// keptSigns stores 32 sign bytes that are the lower halves of eight qwords.
func keptSigns(signs VecVirtual) Mem {
	m := AllocLocal(32)
	VPMOVQD(signs, m)
	return m
}

// sevens is the four fields of seven bits of each qword, from bit first on.
func sevens(x VecVirtual, first int) VecVirtual {
	y := ZMM()
	VPMULTISHIFTQB(x, zload(bytes64(func(i int) int { return first + i%4*7 })), y)
	return evenSigned(y)
}

func ziq2XXS(z *zkernel) {
	rows := rows8Of("iq2xxsGrid", func(i int, r Register) { MOVBQZX(z.from(2+i/4*8+i%4), r) })
	pairs, s := zload(z.from(2)), ZMM()
	signs := keptSigns(sevens(pairs, 32))
	VPSRLQ(Imm(60), pairs, pairs)
	VPMOVQD(pairs, s.AsY())
	z.signed8(rows, signs, z.byScale(s, zhalf(z.from(0)), 0.5, 0.25), perThirtyTwo)
}

func ziq2XS(z *zkernel) {
	pairs, index := zload(z.from(2)), AllocLocal(64)
	low := ZMM()
	VPANDD(all(0x01FF01FF), pairs, low)
	VMOVDQU64(low, index)
	rows := rows8Of("iq2xsGrid", wordsAt(index))
	VPSRLW(Imm(9), pairs, pairs)
	sets, signs := ZMM(), AllocLocal(32)
	VPMOVWB(pairs, sets.AsY())
	VMOVDQU64(evenSigned(sets).AsY(), signs)
	s := nibbleDwords(eightBytes(z.from(66)))
	z.signed8(rows, signs, z.byScale(s, zhalf(z.from(0)), 0.5, 0.25), perSixteen)
}

// indices keeps 32 words: a byte at off each, and above it what mask has of
// high.
func (z *zkernel) indices(off int, high VecVirtual, mask uint32) Mem {
	x, m := ZMM(), AllocLocal(64)
	VPMOVZXBW(z.from(off), x)
	VPTERNLOGD(Imm(andOr), x, all(mask<<16|mask), high)
	VMOVDQU64(high, m)
	return m
}

func ziq2S(z *zkernel) {
	tail := quarters(z.from(66))
	// The byte of four rows, moved so that a row's two bits stand at 8.
	high := ZMM()
	VPERMB(tail, zload(bytes64(func(i int) int { return i / 8 })), high)
	VPSLLVW(words64(func(i int) int { return 8 - i%4*2 }), high, high)
	rows := rows8Of("iq2sGrid", wordsAt(z.indices(2, high, 0x300)))
	above := ZMM()
	VPERMB(tail, zload(bytes64(func(i int) int { return 8 + i%8 })), above)
	s := nibbleDwords(above)
	z.signed8(rows, z.from(34), z.byScale(s, zhalf(z.from(0)), 0.5, 0.25), perSixteen)
}

func ziq3XXS(z *zkernel) {
	rows := rows4Of("iq3xxsPlanes", zload(z.from(2)), nil)
	sets, s := ZMM(), ZMM()
	VPMOVZXDQ(z.from(66), sets)
	signs := keptSigns(sevens(sets, 0))
	VPSRLD(Imm(28), sets, sets)
	VPMOVQD(sets, s.AsY())
	z.signed8(rows, signs, z.byScale(s, zhalf(z.from(0)), 0.5, 0.5), perThirtyTwo)
}

func ziq3S(z *zkernel) {
	upper, four := K(), ZMM()
	KMOVQ(z.from(66), upper)
	rows := rows4Of("iq3sPlanes", zload(z.from(2)), upper)
	VPBROADCASTD(z.from(106), four)
	z.signed8(rows, z.from(74), z.byScale(nibbleDwords(four), zhalf(z.from(0)), 0, 1), perThirtyTwo)
}

// ternary writes a block of rows of signed bytes that are shifted by an eighth
// each, down where their bit of 32 is set: times eight they are whole, and an
// eighth of the scale is exact.
func (z *zkernel) ternary(rows gridCodes, down Register, s zscales, of func(i int) int) {
	up, minus := all(0x01010101), all(0xFFFFFFFF)
	for j := range 4 {
		codes, way := rows(j)
		eighths, k := ZMM(), K()
		KMOVB(down.(GPVirtual).As32(), k)
		if j < 3 {
			SHRL(Imm(8), down.(GPVirtual).As32())
		}
		VPBLENDMQ(minus, up, k, eighths)
		for range 3 {
			VPADDB(codes, codes, codes)
		}
		VPADDB(eighths, codes, codes)
		z.signed16(64*j, codes, way, s, func(i int) int { return of(4*j + i) })
	}
}

func ziq1S(z *zkernel) {
	words, high, s := quarters(z.from(34)), ZMM(), ZMM()
	// The word of four rows, moved so that a row's three bits stand at 8.
	VPERMB(words, zload(words64(func(i int) int { return i/4*0x202 + 0x100 })), high)
	index := ZMM()
	VPSRLVW(words64(func(i int) int { return [4]int{0, 0, 0, 1}[i%4] }), high, index)
	VPSLLVW(words64(func(i int) int { return [4]int{8, 5, 2, 0}[i%4] }), index, index)
	rows := rows8Of("iq1Grid", wordsAt(z.indices(2, index, 0x700)))
	k, down := K(), GP64()
	VPMOVW2M(high, k) // four bits of each word are its sign
	KMOVD(k, down.As32())
	VPMOVZXWD(words.AsY(), s)
	VPSRLD(Imm(12), s, s)
	VPANDD_BCST(dwords(7), s, s)
	z.ternary(rows, down, z.byScale(s, zhalf(z.from(0)), 0, 0.125), perThirtyTwo)
}

func ziq1M(z *zkernel) {
	tail := quarters(z.from(32))
	high := ZMM()
	// A byte for two rows: the first's bits move up by eight, the second's by four.
	VPERMB(tail, zload(bytes64(func(i int) int { return i / 4 })), high)
	index := ZMM()
	VPSRLVW(words64(func(i int) int { return i % 2 * 4 }), high, index)
	rows := rows8Of("iq1Grid", wordsAt(z.indices(0, index, 0x700)))
	// Bit 3 of a row's four bits is its sign: bit 11 or 15 of two equal bytes.
	k, down := K(), GP64()
	VPTESTMW(words64(func(i int) int { return 0x0808 << (i % 2 * 4) }), high, k)
	KMOVD(k, down.As32())
	packed, r, bits := GP64(), GP64(), GP64()
	MOVQ(z.from(48), packed)
	MOVQ(U64(0xF000F000F000F000), bits)
	PEXTQ(bits, packed, r)
	half, d := YMM(), ZMM()
	VPBROADCASTW(r.As32(), half)
	VCVTPH2PS(half, d)
	s := lanes(eightBytes(z.from(48)), func(i int) int { return i / 4 * 2 }, func(i int) int { return i % 4 * 3 })
	VPANDD_BCST(dwords(7), s, s)
	z.ternary(rows, down, z.byScale(s, d, 0, 0.125), perSixteen)
}
