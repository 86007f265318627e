package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A run is ordinary if its scale is zero or at least 2^-80, and its zero point or
// minimum is zero or at least 2^-46: then no factor, product or sum is subnormal,
// which holds up a multiplication for a hundred cycles (additions it does not). All
// other runs go one exact way: they are multiplied as doubles, of which no product of two
// float32 is rounded, and then rounded to float32 once.
const (
	leastScale = (127 - 80) << 23
	leastZero  = (127 - 46) << 23
)

// ifHostile leaves for the label where the numbers of the run are not ordinary. Least
// is what the bits of a scale must be at least; zero, less one, is above all others.
func (k *runs) ifHostile(o op, least Op, label string) {
	bits := GP32()
	MOVL(Mem{Base: k.a}, bits)
	and32(bits, 0x7FFFFFFF)
	DECL(bits)
	CMPL(bits, least)
	JCS(LabelRef(label))
	if o.name == "Shift" || o.name == "Affine" {
		ifBelow(Mem{Base: k.b}, U32(leastZero-1), label)
	}
}

// exactNumbers brings the numbers of the run into p, the scale as doubles.
func (k *runs) exactNumbers(o op, p pair) {
	k.numbersInto(o, p)
	VCVTPS2PD(p.d.AsX(), p.d)
}

// exactly is [op.join] of eight float32 with a scale in doubles.
func (o op) exactly(p pair, x VecVirtual) {
	if o.name == "Shift" {
		VSUBPS(p.m, x, x)
	}
	high := YMM()
	VEXTRACTF128(Imm(1), x, high.AsX())
	for _, x := range [2]VecVirtual{x, high} {
		VCVTPS2PD(x.AsX(), x)
		VMULPD(p.d, x, x)
		VCVTPD2PSY(x, x.AsX())
	}
	VINSERTF128(Imm(1), high.AsX(), x, x)
	if o.name == "Affine" {
		VADDPS(p.m, x, x)
	}
}

// A smallProduct is products with a scale below 2^-80 without a subnormal factor or
// result: all are 2^128 times as large, which in bits is one bit more. A product of
// normal size is rounded right so. Half of it added to 2, or -2, is rounded where
// subnormal numbers are; of both, as integers, the larger one is right.
type smallProduct struct {
	times, half, two VecVirtual
	mask             Op // all bits but the enlarged one
}

const enlargedBit = 1 << 30

// smallScale takes the scale of the run, which is not above 2^-80 and may be zero.
func (k *runs) smallScale() *smallProduct {
	s := &smallProduct{YMM(), YMM(), load(dwords(enlargedBit)), dwords(^uint32(enlargedBit))}
	VBROADCASTSS(Mem{Base: k.a}, s.times)
	times2to128(s.times)
	VMULPS(floats(0.5), s.times, s.half)
	return s
}

// times2to128 multiplies by 2^128 with integers. To a subnormal number the exponent is added
// too, and the leading one that this counts is taken off: the less of both is right.
func times2to128(d VecVirtual) {
	mag, x := YMM(), YMM()
	VANDPS(dwords(0x7FFFFFFF), d, mag)
	VXORPS(mag, d, d)
	VPADDD(dwords(129<<23), mag, x)
	VPADDD(dwords(128<<23), mag, mag)
	VSUBPS(dwords(129<<23), x, x)
	VMINPS(x, mag, mag)
	VORPS(mag, d, d)
}

// round makes x the product of x and half of a factor, of which the whole product,
// enlarged, is p.
func (s *smallProduct) round(p, half, x VecVirtual) {
	s.larger(p, half, x)
	VPAND(s.mask, x, x)
}

// larger is round but for the enlarged bit.
func (s *smallProduct) larger(p, half, x VecVirtual) {
	two := YMM()
	VPSIGND(p, s.two, two)
	VFMADD231PS(half, x, two)
	VPMAXUD(p, two, x)
}

// of multiplies finite numbers below 2^80.
func (s *smallProduct) of(x VecVirtual) {
	p := YMM()
	VMULPS(s.times, x, p)
	s.round(p, s.half, x)
}

// leastForCodebook is what the bits of a scale under a codebook must be at least, less one:
// leastScale if all its numbers are zero or from 2^-20 to 2^30, else more than any.
func leastForCodebook(a, b VecVirtual) Register {
	least, outside, none := GP32(), YMM(), GP32()
	VPXOR(outside, outside, outside)
	for _, x := range [2]VecVirtual{a, b} {
		mag, zero, under, over := YMM(), YMM(), YMM(), YMM()
		VPAND(dwords(0x7FFFFFFF), x, mag)
		VPXOR(zero, zero, zero)
		VPCMPEQD(zero, mag, zero)
		VPCMPGTD(mag, load(dwords((127-20)<<23)), under)
		VPCMPGTD(dwords((127+30)<<23), mag, over)
		VPANDN(under, zero, under)
		VPOR(under, outside, outside)
		VPOR(over, outside, outside)
	}
	VMOVMSKPS(outside, none)
	MOVL(U32(leastScale-1), least)
	NEGL(none) // the carry is whether there is one
	SBBL(none, none)
	ORL(none, least)
	return least
}
