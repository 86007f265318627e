package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// littleMost is the scale, as bits, below which products of numbers from 2^-20
// on may be subnormal.
const littleMost = (127 - 100) << 23

// A little is a scale below that: products are made as those of [small] are, of
// numbers that have signs and may be infinite or NaN.
type little struct {
	op          op
	p           pair
	times, half VecVirtual
	turn        Mem // the scale's sign
}

// ifLittle leaves for "little" where the scale of the run is one. most is less
// one, and zero where there is no such loop.
func (k *runs) ifLittle(most Op) {
	bits := GP32()
	MOVL(Mem{Base: k.a}, bits)
	and32(bits, 0x7FFFFFFF)
	DECL(bits) // zero makes no stalls
	CMPL(bits, most)
	JCS(LabelRef("little"))
}

func newLittle(o op, p pair) *little {
	l := &little{op: o, p: p, times: YMM(), half: YMM(), turn: AllocLocal(32)}
	VANDPS(dwords(0x80000000), p.d, l.half)
	VMOVUPS(l.half, l.turn)
	VANDPS(dwords(0x7FFFFFFF), p.d, l.times)
	larger(l.times, smallShift)
	VPSUBD(dwords(1<<23), l.times, l.half)
	return l
}

// join is what [op.join] is.
func (l *little) join(x VecVirtual) {
	switch l.op.name {
	case "Shift":
		VSUBPS(l.p.m, x, x)
		nan, y := YMM(), YMM()
		VMOVAPS(x, y)
		l.product(y)
		VCMPPS(Imm(3), x, x, nan)
		VBLENDVPS(nan, x, y, x)
	case "Affine":
		l.product(x)
		VADDPS(l.p.m, x, x)
	default:
		l.product(x)
	}
}

// product multiplies x. What overflows under the larger scale was infinite.
func (l *little) product(x VecVirtual) {
	sign, p, over := YMM(), YMM(), YMM()
	VANDPS(dwords(0x80000000), x, sign)
	VXORPS(l.turn, sign, sign)
	VANDPS(dwords(0x7FFFFFFF), x, x)
	VMULPS(l.times, x, p)
	VFMADD213PS(dwords(smallShift<<23), l.half, x)
	VPMAXSD(x, p, x)
	VPCMPGTD(dwords(0x7F7FFFFF), p, over)
	VPSUBD(dwords(smallShift<<23), x, x)
	VBLENDVPS(over, p, x, x)
	VORPS(sign, x, x)
}

// twice multiplies x, and what that rounds to by a factor. Between the two the
// number stays 2^64 times as large.
func (l *little) twice(x, factor, half VecVirtual) {
	sign, p, normal := YMM(), YMM(), YMM()
	unit, mask := dwords(smallShift<<23), dwords(0x7FFFFFFF)
	VANDPS(dwords(0x80000000), x, sign)
	VXORPS(l.turn, sign, sign)
	VANDPS(mask, x, x)
	VMULPS(l.times, x, p)
	VFMADD213PS(unit, l.half, x)
	VSUBPS(unit, x, x)
	VADDPS(x, x, x)
	VPCMPGTD(dwords((smallShift+1)<<23), p, normal)
	VBLENDVPS(normal, p, x, x)
	VMULPS(factor, x, p)
	VFMADD213PS(unit, half, x)
	VPMAXSD(x, p, x)
	VPSUBD(unit, x, x)
	VORPS(sign, x, x)
}

// numbersInBounds is littleMost less one where all numbers of a book are zero
// or neither small nor large, and zero where not.
func numbersInBounds(a, b VecVirtual) Register {
	most := GP32()
	out := YMM()
	VPXOR(out, out, out)
	for _, x := range [2]VecVirtual{a, b} {
		mag, zero, under, over := YMM(), YMM(), YMM(), YMM()
		VPAND(dwords(0x7FFFFFFF), x, mag)
		VPXOR(zero, zero, zero)
		VPCMPEQD(zero, mag, zero)
		VPCMPGTD(mag, load(dwords((127-20)<<23)), under)
		VPCMPGTD(dwords((127+30)<<23), mag, over)
		VPANDN(under, zero, under)
		VPOR(under, out, out)
		VPOR(over, out, out)
	}
	none := GP32()
	VMOVMSKPS(out, none)
	XORL(most, most)
	TESTL(none, none)
	MOVL(U32(littleMost-1), none)
	CMOVLEQ(none, most)
	return most
}
