package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Bytes, nibbles, and nibbles with fifth bits: the small blocks.

// half is the float16 at off in all lanes.
func (k *kernel) half(off int) VecVirtual {
	x := Into(XMM(), VPBROADCASTW, k.from(off))
	return Into(YMM(), VCVTPH2PS, x)
}

// q8 is a float16 and 32 signed bytes.
func q8(k *kernel) {
	d := k.half(0)
	flipSign(d)
	k.signedBytes(0, k.from(2), d)
}

// signedBytes is 32 signed bytes under a negated scale.
func (k *kernel) signedBytes(at int, codes Mem, d VecVirtual) {
	k.bytes(at, codes, nil, true, true, func(x VecVirtual) { VMULPS(d, x, x) })
}

// setNibbles keeps what nibbles needs.
func setNibbles(k *kernel) {
	k.declare("low", func(y VecVirtual) { VMOVDQU(Bytes32(0x0F), y) })
}

// setFives keeps what codes of five bits need.
func setFives(k *kernel) {
	setNibbles(k)
	holding(ofBits)(k)
	if !k.Wide {
		holding(toWords)(k)
	}
}

// nibbles spreads 16 bytes: the low nibbles are elements 0-15, the high ones
// 16-31.
func (k *kernel) nibbles(off int) VecVirtual { return k.nibblesAt(k.from(off)) }

func (k *kernel) nibblesAt(m Mem) VecVirtual {
	y := Into(YMM(), VPBROADCASTQ, m)
	other := Into(YMM(), VPBROADCASTQ, m.Offset(8))
	VPBLENDD(Imm(0xF0), other, y, y)
	VPSRLVQ(Qwords(0, 4), y, y)
	VPAND(k.shared["low"], y, y)
	return y
}

var (
	counted   = [16]float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	iq4Values = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
)

// keepCodebook keeps the sixteen signed bytes of a codebook; where tables are made of them
// as numbers, negated.
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
	k.codebook = k.arrange(v[0], v[1], k.local(64))
}

// codebookBlock is 32 nibbles, places in a codebook, under a float16: Q4_0 and IQ4_NL.
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

// halves is a scale and a minimum, two float16 at off.
func (k *kernel) halves(off int) pair {
	x := Into(XMM(), VPBROADCASTD, k.from(off))
	y := Into(YMM(), VCVTPH2PS, x)
	if !k.ordinary {
		quieted(y)
	}
	return pair{firsts(y), seconds(y)}
}

// unset is FF for each element whose bit in the 32 at off is clear.
func (k *kernel) unset(off int) VecVirtual {
	y, bit := YMM(), k.constant(bitOfByte())
	VPBROADCASTD(k.from(off), y)
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

// A few is codes of a block that has one scale and at most four values: one
// table, to F32 a register of them.
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
		VMOVUPS(x, k.to(at+8*i))
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
		y := Into(YMM(), VPBROADCASTQ, k.from(2+8*i))
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
			f.write(k, 32*i, bytes.twoBits(g, k.from(0), i))
		}
	})
}

// trit is the top base-3 digit of each byte: bytes are fractions of 3^5 in
// 256ths, so the digit is how often 256 goes into three times the byte.
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
	k.spreadQuads(k.from(0), t)
	for n := range 5 {
		if n > 0 {
			tripled(t)
		}
		f.write(k, 32*n, trit(t))
	}
	// Sixteen bytes of five digits: two digits a run; with the last one go
	// four bytes of four digits.
	pairs := Into(YMM(), VBROADCASTI128, k.from(32))
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
	VPBROADCASTD(k.from(48), last.AsX())
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
