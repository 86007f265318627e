package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A multiplication of or to subnormal numbers takes Zen a cycle more than what waits
// for it is told, and Intel's processors more than a hundred. Four ways avoid it:
//
//   - [kernel.multiplied] computes the very same by a fused addition of nothing, which
//     always takes Zen the same time, but not Intel's processors.
//   - [shift] multiplies by a power of two without a multiplication.
//   - A [little] makes the product of normal numbers, for every processor. It
//     takes five instructions more, and numbers that are finite.
//   - To F16, products below 2^-25 are zero, so that a scale may be larger than it
//     is: [runs.flushed].

// multiplied multiplies x by d.
func (k *kernel) multiplied(d, x VecVirtual) { VFMADD213PS(k.minus, d, x) }

// shift multiplies a finite number by 2^up, which makes it normal.
func shift(d VecVirtual, up int) {
	x := YMM()
	VANDPS(dwords(0x7FFFFFFF), d, x)
	VXORPS(x, d, d)
	shiftMagnitude(x, up)
	VORPS(x, d, d)
}

// shiftMagnitude is shift of what has no sign. To a subnormal number the exponent is
// added too, and the leading one that this counts is taken off: the less of both is
// right.
func shiftMagnitude(d VecVirtual, up int) {
	x := YMM()
	VPADDD(dwords(uint32(up+1)<<23), d, x)
	VPADDD(dwords(uint32(up)<<23), d, d)
	VSUBPS(dwords(uint32(up+1)<<23), x, x)
	VMINPS(x, d, d)
}

const (
	smallShift = 64
	// littleMost is the scale, as bits, below which products of numbers from 2^-20
	// on may be subnormal.
	littleMost = (127 - 100) << 23
	// wholeMost is that of products of whole numbers.
	wholeMost = 1 << 23
	// littleBits is what the bits of raised numbers are more.
	littleBits = smallShift << 23
)

// A little is a scale below that. Numbers are multiplied under one that is 2^64
// times as large, which rounds right where the product is normal; and added to a
// number whose unit is that of subnormal numbers, which rounds right, once, where
// it is not. Both then differ from the product, as bits, by littleBits, and the
// larger one is right.
type little struct{ times, half, unit VecVirtual }

// ifLittle leaves for "little" where the scale of the run is one: not zero, and
// at most as many bits as that. Of numbers that are shifted first the shift must
// be below 2^30.
func (k *runs) ifLittle(o op, most Op) {
	bits := GP32()
	if o.name == "Shift" {
		few := GP32()
		MOVL(Mem{Base: k.b}, bits)
		and32(bits, 0x7FFFFFFF)
		CMPL(bits, U32((127+30)<<23))
		SBBL(few, few)
		ANDL(most, few)
		most = few
	}
	MOVL(Mem{Base: k.a}, bits)
	and32(bits, 0x7FFFFFFF)
	DECL(bits)
	CMPL(bits, most)
	JCS(LabelRef("little"))
}

// flushed gives a scale that is little the magnitude of the largest of them: to
// F16 every product is zero with its sign, as before.
func (k *runs) flushed(d VecVirtual) {
	VANDPS(dwords(0x80000000), d, d)
	VORPS(dwords(littleMost), d, d)
}

// newLittle takes a scale, which is multiplied by 2^up.
func (k *kernel) newLittle(d VecVirtual, up int) *little {
	l := &little{d, YMM(), load(dwords(littleBits))}
	if up != 0 {
		l.times = YMM()
		VMOVAPS(d, l.times)
		shift(l.times, up)
	}
	VPSUBD(dwords(1<<23), l.times, l.half)
	return l
}

// enlarged multiplies both numbers of sums of whole numbers by a power of two: 2^128, or
// to F16, where all sums are zeros, 2^24. Products, which may be subnormal, and sums, which
// may be where both numbers are small and nearly the same, are then of units that are
// normal numbers. If the second number is so large that products do not count, the scale
// becomes zero and the run is none of these.
func (k *runs) enlarged(p pair) {
	bits, up := GP32(), liftedShift
	if k.narrow {
		up = 24
	}
	MOVL(Mem{Base: k.b}, bits)
	and32(bits, 0x7FFFFFFF)
	CMPL(bits, U32((127-60)<<23))
	JCS(LabelRef("enlarged"))
	VPXOR(p.d, p.d, p.d)
	JMP(LabelRef("plain"))
	Label("enlarged")
	shift(p.d, up)
	shift(p.m, up)
}

// join is what [op.join] is; but if nothing is added last, numbers are raised.
func (l *little) join(o op, p pair, x VecVirtual) {
	o.by(p, x, func() {
		q := YMM()
		VMULPS(l.times, x, q)
		l.larger(q, l.half, x)
		if o.name == "Affine" {
			VPSUBD(l.unit, x, x)
		}
	})
}

// larger makes x the larger one of p, as bits, and of half of that, x times half,
// added to the unit with its sign. x may be p.
func (l *little) larger(p, half, x VecVirtual) {
	unit := YMM()
	VBLENDVPS(p, dwords(littleBits|0x80000000), l.unit, unit)
	VFMADD231PS(half, x, unit)
	VPMAXUD(p, unit, x)
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
