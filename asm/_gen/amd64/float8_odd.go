package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// An edge is a run to BF16 whose scale is zero, infinite, NaN or so large that
// products overflow. The table of the first codes serves here too: magnitudes
// stop at infinity, and no exponent is added to what is zero, infinite or NaN.
type edge struct {
	f              float8
	l              looked
	exponent, most Mem        // which bits of the exponent count, the largest magnitude
	infinity       Mem        // what an infinite code comes to, its lower byte
	turn           VecVirtual // the sign of the scale
}

// newEdge leaves for "small" where the scale is none of those.
func (f float8) newEdge(k *runs) *edge {
	e := &edge{f: f, exponent: AllocLocal(32), most: AllocLocal(32)}
	exponent, most := YMM(), YMM()
	bits, huge, x := GP32(), GP32(), XMM()
	MOVL(Mem{Base: k.a}, bits)
	and32(bits, 0x7FFFFFFF)
	LEAL(Mem{Base: bits, Disp: -1}, huge)
	CMPL(huge, U32(f.least<<23-1))
	JCS(LabelRef("small"))
	scale, quiet := YMM(), GP32()
	MOVL(U32(0x7FC00000), quiet)
	CMPL(bits, U32(0x7F800000))
	CMOVLHI(quiet, bits)
	VMOVD(bits, x)
	VPBROADCASTD(x, scale)
	// All ones where the scale is a number other than zero: 1..7F7FFFFF.
	CMPL(huge, U32(0x7F7FFFFF))
	SBBL(huge, huge)
	VMOVD(huge, x)
	VPBROADCASTD(x, exponent)
	VPXOR(dwords(0xFFFFFFFF), exponent, most)
	VPOR(words(0x7F80), most, most)
	VMOVDQU(most, e.most)
	step := byte(1) << f.man
	VPAND(bytes32(0x80-step), exponent, exponent)
	VMOVDQU(exponent, e.exponent)
	if f.infinite { // infinity, but NaN under a scale of zero or NaN
		DECL(bits)
		CMPL(bits, U32(0x7F800000))
		SBBL(huge, huge)
		NOTL(huge)
		and32(huge, 0x40404040)
		ORL(U32(0x80808080), huge)
		y := YMM()
		e.infinity = AllocLocal(32)
		VMOVD(huge, x)
		VPBROADCASTD(x, y)
		VMOVDQU(y, e.infinity)
	}
	e.turn = k.turnOf()
	e.l = k.table16(f.first(k.kernel), false, func(x VecVirtual) { VMULPS(scale, x, x) })
	return e
}

// turnOf is the scale's sign in the top bit of all bytes; the others are random.
func (k *runs) turnOf() VecVirtual {
	y := YMM()
	VPBROADCASTB(Mem{Base: k.a, Disp: 3}, y)
	return y
}

// magnitude is the scale without its sign.
func (k *runs) magnitude() VecVirtual {
	y := YMM()
	VBROADCASTSS(Mem{Base: k.a}, y)
	VANDPS(dwords(0x7FFFFFFF), y, y)
	return y
}

// write writes 32 elements.
func (e *edge) write(k *runs) {
	f := e.f
	step := byte(1) << f.man
	codes, mag, index, exp := YMM(), YMM(), YMM(), YMM()
	k.spreadQuads(k.from(0), codes)
	VPAND(bytes32(0x7F), codes, mag)
	VPSUBUSB(bytes32(step), mag, exp)
	VPAND(bytes32(0x80-step), exp, exp)
	VPSUBB(exp, mag, index)
	VPAND(e.exponent, exp, exp)
	lo, hi, sign := YMM(), YMM(), YMM()
	VPSHUFB(index, e.l[0], lo)
	VPSHUFB(index, e.l[1], hi)
	if f.infinite {
		top := YMM()
		VPCMPGTB(bytes32(0x7B), mag, top)
		VPBLENDVB(top, e.infinity, lo, lo)
		VPBLENDVB(top, bytes32(0x7F), hi, hi)
		VPANDN(exp, top, exp)
	}
	VPXOR(e.turn, codes, sign)
	VPAND(bytes32(0x80), sign, sign)
	nan, nanLow := f.nan(k, codes, mag), YMM()
	VPAND(bytes32(0xC0), nan, nanLow)
	VPAND(bytes32(0x7F), nan, nan)
	zero := YMM()
	VPXOR(zero, zero, zero)
	for i, join := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW} {
		w, x, n, s, number := YMM(), YMM(), YMM(), YMM(), YMM()
		join(hi, lo, w)
		join(zero, exp, x)
		join(nan, nanLow, n)
		join(sign, zero, s)
		VPSLLW(Imm(uint64(7-f.man)), x, x)
		VPADDW(x, w, w)
		VPMINUW(e.most, w, w)
		VPMAXUW(n, w, w)
		VPCMPGTW(words(0x7F80), w, number)
		VPANDN(s, number, s)
		VPOR(s, w, w)
		VMOVDQU(w, k.to(16*i))
	}
}
