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
	scale := k.magnitude()
	quieted(scale)
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
	codes, mag, index, low, exp := YMM(), YMM(), YMM(), YMM(), YMM()
	k.spreadQuads(k.from(0), codes)
	VPAND(bytes32(0x7F), codes, mag)
	VPMINUB(bytes32(step), mag, index)
	VPAND(bytes32(step), index, index)
	VPAND(bytes32(step-1), codes, low)
	VPOR(low, index, index)
	VPSUBUSB(bytes32(step), mag, exp)
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

// A small is a run whose products may be subnormal: no product that is gives
// them, because such a product stalls processors. Magnitudes are multiplied
// under a scale that is 2^64 times as large, which rounds right where the
// product is normal; and added to a number whose unit is that of subnormal
// numbers, which rounds right, once, where it is not. Both are then integers
// that differ from the product's bits by the same number, and the larger one is
// right.
type small struct {
	f          float8
	times      VecVirtual // the scale times 2^64, and what codes lack as bits of float32
	half       VecVirtual
	unit       VecVirtual // 2^63 units of subnormal numbers, and the bits that 2^64 adds
	turn       VecVirtual
	round, one VecVirtual
}

const smallShift = 64

func (f float8) newSmall(k *runs) *small {
	s := &small{f: f, times: k.magnitude(), half: YMM(), unit: load(dwords(smallShift << 23)), one: load(dwords(1))}
	// Bits of codes, moved up, are numbers smaller by a power of two, and those
	// of codes without leading zeros by two or three more.
	larger(s.times, 127-f.bias-f.man+smallShift)
	VPSUBD(dwords(1<<23), s.times, s.half)
	s.turn = k.turnOf()
	less := uint32(smallShift << 23)
	s.round = load(dwords(roundPlain - less))
	return s
}

// raised gives codes of subnormal numbers a leading one, as if there were more
// exponents: magnitudes then are numbers of one form, and none a subnormal
// operand, which stalls as subnormal products do.
func (f float8) raised(mag VecVirtual) {
	table, more := make([]byte, 16), byte(24)
	copy(table, []byte{0, 8, 16, 20, 24, 26, 28, 30})
	if f.man == 2 {
		more = 8
		copy(table, []byte{0, 4, 8, 10})
	}
	t, normal := load(bytes32(table...)), YMM()
	VPSHUFB(mag, t, t)
	VPCMPGTB(bytes32(1<<f.man-1), mag, normal)
	VPADDB(bytes32(more), mag, mag)
	VPBLENDVB(normal, mag, t, mag)
}

// larger multiplies magnitudes that are small by 2^up. They may be subnormal:
// then their bits are counted.
func larger(y VecVirtual, up int) {
	counted, normal := YMM(), YMM()
	VPCMPGTD(dwords(0x007FFFFF), y, normal)
	VCVTDQ2PS(y, counted)
	VPADDD(dwords(uint32(up)<<23), y, y)
	VPADDD(dwords(uint32(up-149)<<23), counted, counted)
	VBLENDVPS(normal, y, counted, y)
}

// product turns the bits of magnitudes into those of products, more by unit.
func (s *small) product(x VecVirtual) VecVirtual {
	p := YMM()
	VMULPS(s.times, x, p)
	VFMADD213PS(s.unit, s.half, x)
	VPMAXSD(x, p, p)
	return p
}

func (s *small) write(k *runs) {
	f := s.f
	codes, mag, sign, low := YMM(), YMM(), YMM(), YMM()
	k.spreadQuads(k.from(0), codes)
	VPAND(bytes32(0x7F), codes, mag)
	VPXOR(s.turn, codes, sign)
	VPAND(bytes32(0x80), sign, sign)
	nan := f.nan(k, codes, mag)
	VPAND(bytes32(0xC0), nan, low)
	if f.infinite {
		inf, t := equal(mag, 0x7C), YMM()
		VPAND(bytes32(0x7F), inf, t)
		VPOR(t, sign, sign)
		VPAND(bytes32(0x80), inf, t)
		VPOR(t, low, low)
		VPANDN(mag, inf, mag)
	}
	VPBLENDVB(nan, bytes32(0x7F), sign, sign)
	f.raised(mag)
	VPANDN(mag, nan, mag)
	for i, join := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW} {
		w, o := YMM(), YMM()
		join(sign, low, o)
		var x [2]VecVirtual
		for j := range x { // the even ones, the odd ones
			y, t, order := YMM(), YMM(), []byte(nil)
			for d := range 4 {
				order = append(order, 0x80, 0x80, 0x80, byte(8*i+2*d+j))
			}
			VPSHUFB(bytes32(order...), mag, y)
			VPSRLD(Imm(uint64(1+f.man)), y, y)
			y = s.product(y)
			x[j] = y
			VPSRLD(Imm(16), y, t)
			VPAND(s.one, t, t)
			VPADDD(s.round, y, y)
			VPADDD(t, y, y)
		}
		w = pack(x[0], x[1])
		VPOR(o, w, w)
		VMOVDQU(w, k.to(16*i))
	}
}
