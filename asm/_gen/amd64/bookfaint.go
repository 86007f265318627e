package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// faintSecond is the second number, as bits, above which no sum or difference with a
// number of a book is subnormal unless it is exact.
const faintSecond = (127 - 70) << 23

// ifFaintSecond leaves for "faint" where the second number of a run is next to zero, but
// not zero: sums of normal numbers may then be subnormal, and so may differences be,
// before they are multiplied.
func (k *runs) ifFaintSecond(o op) {
	if o.name == "Scale" {
		return
	}
	bits := GP32()
	MOVL(Mem{Base: k.b}, bits)
	and32(bits, 0x7FFFFFFF)
	DECL(bits)
	CMPL(bits, U32(faintSecond-1))
	JCS(LabelRef("faint"))
}

// faintSeconds is such runs, in float64: it rounds no product of two float32, and no
// sum so that it matters.
func (k *runs) faintSeconds(o op, p pair, write func(join func(x VecVirtual))) {
	if o.name == "Scale" {
		return
	}
	Label("faint")
	k.numbersInto(o, p)
	write(func(x VecVirtual) {
		if o.name == "Shift" {
			VSUBPS(p.m, x, x)
		}
		var half [2]VecVirtual
		by := func(y VecVirtual, do func(ops ...Op), other VecVirtual) {
			z := YMM()
			VCVTPS2PD(other.AsX(), z)
			do(z, y, y)
			VCVTPD2PSY(y, y.AsX())
		}
		for i := range half {
			half[i] = YMM()
			if i == 0 {
				VCVTPS2PD(x.AsX(), half[i])
			} else {
				VEXTRACTF128(Imm(1), x, half[i].AsX())
				VCVTPS2PD(half[i].AsX(), half[i])
			}
			by(half[i], VMULPD, p.d)
			if o.name == "Affine" {
				VCVTPS2PD(half[i].AsX(), half[i])
				by(half[i], VADDPD, p.m)
			}
		}
		VINSERTF128(Imm(1), half[1].AsX(), half[0], x)
	})
}
