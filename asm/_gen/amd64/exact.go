package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A run is ordinary if its scale is zero or at least 2^-80, and its zero point or
// minimum is zero or at least 2^-46: then no factor, product or sum is subnormal,
// which holds up a processor for a hundred cycles. All other runs go one exact way:
// operations on doubles, each rounded to float32 as the scalar function does. A sum,
// a difference or a product of two float32 is the same whether it is rounded from
// the exact result or from a double.
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

// exactNumbers brings the numbers of the run into p as doubles.
func (k *runs) exactNumbers(o op, p pair) {
	k.numbersInto(o, p)
	VCVTPS2PD(p.d.AsX(), p.d)
	if o.name == "Shift" || o.name == "Affine" {
		VCVTPS2PD(p.m.AsX(), p.m)
	}
}

// exactly is [op.join] of eight float32 with doubles.
func (o op) exactly(p pair, x VecVirtual) {
	high := YMM()
	VEXTRACTI128(Imm(1), x, high.AsX())
	for _, x := range [2]VecVirtual{x, high} {
		VCVTPS2PD(x.AsX(), x)
		if o.name == "Shift" {
			VSUBPD(p.m, x, x)
			single(x)
		}
		VMULPD(p.d, x, x)
		if o.name == "Affine" {
			single(x)
			VADDPD(p.m, x, x)
		}
		VCVTPD2PSY(x, x.AsX())
	}
	VINSERTI128(Imm(1), high.AsX(), x, x)
}

// single rounds doubles to float32.
func single(x VecVirtual) {
	VCVTPD2PSY(x, x.AsX())
	VCVTPS2PD(x.AsX(), x)
}

// leastForBook is what the bits of a scale under a codebook must be at least, less one:
// leastScale if all its numbers are zero or from 2^-20 to 2^30, else more than any.
func leastForBook(a, b VecVirtual) Register {
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
