package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Books that are not ordinary are multiplied in double precision, which is slow
// for no number, and each step is rounded to single precision.

// settle keeps numbers as they are, for products in double precision.
func (k *zbook) settle() {
	keep(k.settledScale(), k.held.scale)
	keep(k.more(), k.held.more)
	if k.name != "Scale" {
		nanOf(k.numbers[1], 0x7FC00000|k.turned())
		keep(k.numbers[1], k.held.second)
	}
}

// settledScale is the scales, turned, of which a NaN has the sign that is turned.
func (k *zbook) settledScale() VecVirtual {
	x := ZMM()
	VMOVDQA64(k.numbers[0], x)
	if k.turned() != 0 {
		VPXORD_BCST(dwords(k.turned()), x, x)
	}
	nanOf(x, 0x7FC00000|k.turned())
	return x
}

// inDoubles is sixteen numbers in double precision.
func inDoubles(x VecVirtual) (d [2]VecVirtual) {
	d = [2]VecVirtual{ZMM(), ZMM()}
	VCVTPS2PD(x.AsY(), d[0])
	VEXTRACTI64X4(Imm(1), x, d[1].AsY())
	VCVTPS2PD(d[1].AsY(), d[1])
	return d
}

// exact is what any book comes to, as a table.
func (k *zbook) exact(x VecVirtual, run int) {
	s, z, p := ZMM(), ZMM(), [2]VecVirtual{ZMM(), ZMM()}
	VCVTPS2PD_BCST(k.of(k.held.scale, run), s)
	if k.name != "Scale" {
		VCVTPS2PD_BCST(k.of(k.held.second, run), z)
	}
	for i, p := range p {
		from := k.doubles[i]
		single := func() {
			VCVTPD2PS(p, p.AsY())
			VCVTPS2PD(p.AsY(), p)
		}
		if k.name == "Shift" {
			VSUBPD(z, from, p)
			single()
			from = p
		}
		VMULPD(s, from, p)
		if k.name == "Affine" {
			single()
			VADDPD(z, p, p)
		}
		VCVTPD2PS(p, p.AsY())
	}
	VINSERTI64X4(Imm(1), p[1].AsY(), p[0], x)
	if k.name == "Affine" {
		zquieted(x)
	}
	k.rounded(x, run)
}
