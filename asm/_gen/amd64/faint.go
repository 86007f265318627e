package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A shift of less than 2^-26, which is not zero, is faint: it changes no code but zero,
// whose product alone may be subnormal, or have a subnormal factor, although the scale is
// not small. That product is made once for a run, of doubles.
const faintMost = (127 - 26) << 23

func (b *byteLoops) ifFaint() {
	ifBelow(Mem{Base: b.b}, U32(faintMost-1), "faint")
}

// faint is the loop of runs that have such a shift. Where the scale is little too, one
// that is large enough not to be subnormal serves in its place: zero comes to zero.
func (b *byteLoops) faint() {
	Label("faint")
	ifBelow(Mem{Base: b.a}, U32(littleMost-1), "faintLittle")
	b.numbersInto(b.first, b.p)
	// What zero times the scale is, and which bits of that are others.
	zero, ofZero := YMM(), b.ofZero(b.p)
	VXORPS(zero, zero, zero)
	VMULPS(zero, b.p.d, b.p.m)
	VXORPS(b.p.m, ofZero, ofZero)
	b.loops("faintly", func(x VecVirtual) {
		other := YMM()
		VPCMPEQD(zero, x, other)
		VPAND(ofZero, other, other)
		VMULPS(b.p.d, x, x)
		VPXOR(other, x, x)
	})
	Label("faintLittle")
	least := pow2(-60)
	if b.narrow {
		least = pow2(-26)
	}
	b.lifted = !b.narrow
	b.littleNumbersInto(b.first, b.p)
	sign := YMM()
	VANDPS(dwords(0x80000000), b.p.m, sign)
	VANDPS(dwords(0x7FFFFFFF), b.p.m, b.p.m)
	VPMAXUD(floats(least), b.p.m, b.p.m)
	VORPS(sign, b.p.m, b.p.m)
	JMP(LabelRef("shifted"))
}

// ofZero is what code zero comes to.
func (k *runs) ofZero(p pair) VecVirtual {
	d, m, x := YMM(), YMM(), YMM()
	VXORPS(k.minus, p.m, m)
	VCVTPS2PD(m.AsX(), m)
	VCVTPS2PD(p.d.AsX(), d)
	VMULPD(m, d, d)
	VCVTPD2PSY(d, x.AsX())
	VBROADCASTSS(x.AsX(), x)
	return x
}
