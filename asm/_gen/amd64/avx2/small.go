package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Bytes, nibbles, and nibbles with fifth bits: the small blocks.

// half returns the float16 at off in all lanes.
func (k *kernel) half(off int) VecVirtual {
	return Into(YMM(), VCVTPH2PS, Into(XMM(), VPBROADCASTW, k.From(off)))
}

// q8 is a float16 and 32 signed bytes.
func q8(k *kernel) {
	d := k.half(0)
	flipSign(d)
	k.signedBytes(0, k.From(2), d)
}

// signedBytes writes 32 signed bytes under a negated scale.
func (k *kernel) signedBytes(at int, codes Mem, d VecVirtual) {
	k.bytes(at, codes, nil, true, true, func(x VecVirtual) { VMULPS(d, x, x) })
}

// setNibbles loads the constants of nibbles.
func setNibbles(k *kernel) {
	k.declare("low", func(y VecVirtual) { VMOVDQU(Bytes32(0x0F), y) })
}

// setFives loads the constants of five-bit codes.
func setFives(k *kernel) {
	setNibbles(k)
	holding(ofBits)(k)
	if !k.Wide {
		holding(toWords)(k)
	}
}

// nibbles unpacks 16 bytes: the low nibbles are elements 0-15, the high ones 16-31.
func (k *kernel) nibbles(off int) VecVirtual { return k.nibblesAt(k.From(off)) }

func (k *kernel) nibblesAt(m Mem) VecVirtual {
	y := Into(YMM(), VPBROADCASTQ, m)
	other := Into(YMM(), VPBROADCASTQ, m.Offset(8))
	VPBLENDD(Imm(0xF0), other, y, y)
	VPSRLVQ(Qwords(0, 4), y, y)
	VPAND(k.shared["low"], y, y)
	return y
}

// IQ4Values is the codebook of IQ4_NL and IQ4_XS.
var (
	counted   = [16]float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	IQ4Values = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
)

// keepCodebook stores the sixteen signed bytes of a codebook; where tables are made of
// them, as negated numbers.
func keepCodebook(k *kernel) {
	setNibbles(k)
	codebook := Mem{Base: Load(Param("codebook"), GP64())}
	if k.float32() {
		k.declare("codebook", func(y VecVirtual) { VBROADCASTI128(codebook, y) })
		return
	}
	var v [2]VecVirtual
	for i := range v {
		v[i] = Into(YMM(), VPMOVSXBD, codebook.Offset(8*i))
		VCVTDQ2PS(v[i], v[i])
		VXORPS(k.minus, v[i], v[i])
	}
	k.codebook = k.arrange(v[0], v[1], k.Local(64))
}

// codebookBlock decodes 32 nibbles, indices into a codebook, under a float16: Q4_0 and IQ4_NL.
func codebookBlock(k *kernel) {
	d := k.half(0)
	if !k.float32() {
		canonical(d)
		k.lookup(0, k.nibbles(2), k.by(k.codebook, d))
		return
	}
	flipSign(d)
	codes := k.nibbles(2)
	VPSHUFB(codes, k.shared["codebook"], codes)
	k.scaled(0, codes, d, d)
}

func q4_1(k *kernel) {
	p := k.halves(0)
	if k.float32() {
		k.affine(0, k.nibbles(4), p, p, true)
		return
	}
	k.lookup(0, k.nibbles(4), k.table16(k.constants(counted, false), false, func(x VecVirtual) { p.join(x, true) }))
}

// halves loads a scale and a minimum, two float16 at off.
func (k *kernel) halves(off int) pair {
	x := Into(XMM(), VPBROADCASTD, k.From(off))
	y := Into(YMM(), VCVTPH2PS, x)
	if !k.ordinary && !k.Wide { // where those are, numbers are quieted
		quieted(y)
	}
	return pair{firsts(y), seconds(y)}
}

// unset returns FF for each element whose bit in the 32 at off is clear.
func (k *kernel) unset(off int) VecVirtual {
	y, bit := YMM(), k.constant(bitOfByte())
	VPBROADCASTD(k.From(off), y)
	VPSHUFB(k.constant(byteOfBit()), y, y)
	VPANDN(bit, y, y)
	VPCMPEQB(bit, y, y)
	return y
}

func q5_0(k *kernel) {
	d := k.half(0)
	k.negated(d)
	codes, clear := k.nibbles(6), k.unset(2)
	VPAND(Bytes32(0xF0), clear, clear) // -16 where the high bit is clear
	VPOR(clear, codes, codes)
	k.scaled(0, codes, d, d)
}

func q5_1(k *kernel) {
	p := k.halves(0)
	codes, clear := k.nibbles(8), k.unset(4)
	VPANDN(Bytes32(0x10), clear, clear)
	VPOR(clear, codes, codes)
	k.affine(0, codes, p, p, true)
}

// Bits, codes of two bits, and ternary digits, under one float16.

// A few is the codes of a block with one scale and at most four values: one table, to F32
// one register.
type few struct {
	l    tables16
	four VecVirtual
}

func (k *kernel) few(d VecVirtual, v ...float32) (f few) {
	var all [16]float32
	copy(all[:], v)
	canonical(d)
	if !k.float32() {
		f.l = k.by(k.constants(all, true), d)
		return f
	}
	f.four = Load32(Floats(all[:4]...))
	VMULPS(d, f.four, f.four)
	quieted(f.four)
	return f
}

func (f few) write(k *kernel, at int, codes VecVirtual) {
	if !k.float32() {
		k.lookup(at, codes, f.l)
		return
	}
	VMOVDQU(codes, k.spill)
	for i := range 4 {
		x := Into(YMM(), VPMOVZXBD, k.spill.Offset(quadAt[i]))
		VPERMILPS(x, f.four, x)
		VMOVUPS(x, k.To(at+8*i))
	}
}

func q1(k *kernel) {
	f := k.few(k.half(0), 1, -1)
	for i := range 4 {
		codes := k.unset(2 + 4*i)
		VPAND(Bytes32(1), codes, codes)
		f.write(k, 32*i, codes)
	}
}

func q2(k *kernel) {
	f := k.few(k.half(0), -1, 0, 1, 2)
	for i := range 2 {
		y := Into(YMM(), VPBROADCASTQ, k.From(2+8*i))
		VPSHUFB(Data([]byte{0, 0, 0, 0, 1, 1, 1, 1, 4, 4, 4, 4, 5, 5, 5, 5, 2, 2, 2, 2, 3, 3, 3, 3, 6, 6, 6, 6, 7, 7, 7, 7}), y, y)
		// Of each four equal bytes keep one pair of bits, then bring it down.
		high, codes := YMM(), YMM()
		VPSRLW(Imm(4), y, high)
		VPBLENDW(Imm(0xAA), high, y, y) // bits 0-3 of a word's bytes: pairs 0, 1 or 2, 3
		VPSRLW(Imm(2), y, high)
		VPBLENDVB(Load32(Words(0xFF00)), high, y, codes)
		VPAND(Bytes32(3), codes, codes)
		f.write(k, 32*i, codes)
	}
}

func tq2(k *kernel) {
	f := k.few(k.half(64), -1, 0, 1, 2)
	k.groupLoop(8, 4, 32, 32, func(g *groups) {
		bytes := spreads{}
		for i := range 4 {
			f.write(k, 32*i, bytes.twoBits(g, k.From(0), i))
		}
	})
}

// trit returns the top base-3 digit of each byte: a byte is a fraction of 3^5 in 256ths,
// so the digit is how often 256 goes into three times the byte.
func trit(t VecVirtual) VecVirtual {
	codes, flipped, m := YMM(), YMM(), YMM()
	VPXOR(Bytes32(0x80), t, flipped)
	VPCMPGTB(Bytes32(85^0x80), flipped, m)
	VPABSB(m, codes)
	VPCMPGTB(Bytes32(170^0x80), flipped, m)
	VPSUBB(m, codes, codes)
	return codes
}

// tripled moves to the next digit.
func tripled(t VecVirtual) {
	twice := Into(YMM(), VPADDB, t, t)
	VPADDB(twice, t, t)
}

func tq1(k *kernel) {
	f := k.few(k.half(52), -1, 0, 1)
	t := YMM()
	k.spreadQuads(k.From(0), t)
	for n := range 5 {
		if n > 0 {
			tripled(t)
		}
		f.write(k, 32*n, trit(t))
	}
	// Sixteen bytes of five digits: two digits a run; with the last one go
	// four bytes of four digits.
	pairs := Into(YMM(), VBROADCASTI128, k.From(32))
	upper := Into(YMM(), VPADDB, pairs, pairs)
	VPADDB(pairs, upper, upper)
	VPBLENDD(Imm(0xF0), upper, pairs, pairs)
	for n := range 2 {
		if n > 0 {
			for range 2 {
				tripled(pairs)
			}
		}
		codes := Into(YMM(), VPERMQ, Imm(quads), pairs)
		f.write(k, 160+32*n, trit(codes))
	}
	for range 2 {
		tripled(pairs)
	}
	last := YMM()
	VPBROADCASTD(k.From(48), last.AsX())
	VPMOVZXBW(last.AsX(), last)
	VPMULLW(Words(1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27), last, last)
	VPAND(Words(0xFF), last, last)
	other := YMM()
	VEXTRACTI128(Imm(1), last, other.AsX())
	VPACKUSWB(other.AsX(), last.AsX(), last.AsX())
	VINSERTI128(Imm(1), last.AsX(), pairs, pairs)
	VPERMQ(Imm(quads), pairs, pairs)
	f.write(k, 224, trit(pairs))
}

// Products of FP4 with the scales of MXFP4 and NVFP4 are numbers of BF16 without
// rounding, and there are 256 scales of each: the tables of all are variables, as
// low bytes and high bytes, and no number is computed. The other types widen them.

// tableOf returns the address of the table for the scale at off.
func (k *kernel) tableOf(variable string, off int) Mem {
	i, base := GP64(), Address(variable)
	MOVBQZX(k.From(off), i)
	SHLQ(Imm(5), i)
	return Mem{Base: base, Index: i, Scale: 1}
}

// both returns a table in both halves of registers.
func both(at Mem) tables16 {
	l := tables16{YMM(), YMM()}
	VBROADCASTI128(at, l[0])
	VBROADCASTI128(at.Offset(16), l[1])
	return l
}

func mxfp4(k *kernel) {
	l := both(k.tableOf("mxfp4Tables", 0))
	if k.Wide {
		k.lookupWidened(0, k.foursOfNibbles(1, [4]byte{0, 2, 0, 2}, Dwords(0, 0, 4, 4)), l, l)
		return
	}
	k.lookup(0, k.nibbles(1), l)
}

// nvfp4 decodes sixteen elements per eight bytes. To BF16, those of the first and third
// scale are looked up together, and those of the second and fourth.
func nvfp4(k *kernel) {
	if k.Wide {
		for s := 0; s < 4; s += 2 {
			codes := k.foursOfNibbles(4+8*s, [4]byte{0, 0, 2, 2}, Dwords(0, 4, 0, 4))
			k.lookupWidened(16*s, codes, both(k.tableOf("nvfp4Tables", s)), both(k.tableOf("nvfp4Tables", s+1)))
		}
		return
	}
	low, high := k.nibblesTwice(Load32(k.From(4)))
	for s, unpack := range []func(...Op){VPUNPCKLQDQ, VPUNPCKHQDQ} {
		codes := YMM()
		unpack(high, low, codes)
		a, b := k.tableOf("nvfp4Tables", s), k.tableOf("nvfp4Tables", s+2)
		k.lookupTwice(16*s, 32+16*s, codes, tables16{join(a, b), join(a.Offset(16), b.Offset(16))})
	}
}

// foursOfNibbles unpacks 16 bytes in the order of fours. The lower half of the register
// has the given fours of bytes, shifted down by shift, the upper half those after each.
func (k *kernel) foursOfNibbles(off int, from [4]byte, shift Mem) VecVirtual {
	var order []byte
	for half := range byte(2) {
		for _, f := range from {
			first := 4 * (f + half)
			order = append(order, first, first+1, first+2, first+3)
		}
	}
	y := Into(YMM(), VBROADCASTI128, k.From(off))
	VPSHUFB(Data(order), y, y)
	VPSRLVD(shift, y, y)
	VPAND(k.shared["low"], y, y)
	return y
}

// lookupWidened writes 32 elements by their codes in the order of fours, with a table for
// the first sixteen and one for the second.
func (k *kernel) lookupWidened(at int, codes VecVirtual, first, second tables16) {
	zero := YMM()
	VPXOR(zero, zero, zero)
	low, high := k.found(codes, first)
	for half, join := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW} {
		if half == 1 && &second[0] != &first[0] {
			low, high = k.found(codes, second)
		}
		w := YMM()
		join(high, low, w)
		for i, widen := range []func(...Op){VPUNPCKLWD, VPUNPCKHWD} {
			x := YMM()
			widen(w, zero, x)
			k.store8(x, at+16*half+8*i)
		}
	}
}

// found returns the low and the high bytes of the numbers of codes.
func (k *kernel) found(codes VecVirtual, l tables16) (low, high VecVirtual) {
	return Into(YMM(), VPSHUFB, codes, l[0]), Into(YMM(), VPSHUFB, codes, l[1])
}
