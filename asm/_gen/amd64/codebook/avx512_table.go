package codebook

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// indices are 32 indices from sixteen bytes, or from 32: dwords, or bytes, two for
// each word. The upper four qwords of a register are cut out of the second eight bytes.
func (k *kernel) indices(off int) Codes {
	switch {
	case k.each == 1 && !k.Words():
		a, b := Unsigned(k.From(off)), Unsigned(k.From(off+16))
		VPROLVD(k.order, a, a)
		VPROLVD(k.order, b, b)
		return Codes{a, b}
	case k.each == 1:
		x := ZMM()
		VMOVDQU32(k.From(off), x.AsY())
		VPERMB(x, k.twice, x)
		VPROLVD(k.order, x, x)
		VPTERNLOGD(Imm(AndOr), k.parts, k.code, x)
		return Codes{x}
	case !k.Words():
		a := Into(ZMM(), VPMULTISHIFTQB_BCST, k.From(off), k.order)
		b := Into(ZMM(), VPMULTISHIFTQB_BCST, k.From(off+8), k.order)
		return Codes{a, b}
	}
	x := Into(ZMM(), VPBROADCASTQ, k.From(off))
	VPBROADCASTQ(k.From(off+8), k.upper, x)
	VPMULTISHIFTQB(x, k.order, x)
	VPTERNLOGD(Imm(AndOr), k.parts, k.code, x)
	return Codes{x}
}

// lookup writes what the table has for 32 indices.
func (k *kernel) lookup(at int, c Codes, t Table) {
	if k.Words() {
		k.Placed(at, c[0], t)
		return
	}
	for i, c := range c {
		k.Kernel.Lookup(at+16*i, Codes{c}, t[i%k.unit:][:1])
	}
}

// table is what the codebook comes to in one run, or in two: to BF16 words of
// the first in the upper halves of dwords, of the second in the lower ones.
func (k *kernel) table(t Table, run int, product func(x VecVirtual, run int)) {
	for i, x := range t {
		product(x, run+i)
	}
	switch {
	case !k.Words() || k.unit == 1:
	case k.Narrow:
		VINSERTI64X4(Imm(1), t[1].AsY(), t[0], t[0])
	default:
		VPERMB(t[1], k.uppers, k.lower, t[0])
	}
}

// ordinary is what the codebook comes to in ordinary runs, as a table: to BF16
// the upper halves of dwords.
func (k *kernel) ordinary(x VecVirtual, run int) {
	from := k.codebook
	if k.join == JoinShift {
		VSUBPS_BCST(Mem{Base: k.b, Disp: 4 * run}, k.codebook, x)
		from = x
	}
	VMULPS_BCST(Mem{Base: k.a, Disp: 4 * run}, from, x)
	if k.join == JoinAffine {
		VADDPS_BCST(Mem{Base: k.b, Disp: 4 * run}, x, x)
	}
	switch {
	case k.Narrow || k.Wide || k.join == JoinShift: // any of which may be zero
		k.rounded(x)
	default: // x*65536 - x*65535 is x rounded to 8 bits; zeros keep their sign
		less := ZMM()
		VMULPS(k.less, x, less)
		if k.join == JoinScale {
			VFMSUB132PS(k.times, less, k.some, x)
		} else {
			VFMSUB132PS(k.times, less, x)
		}
	}
}

// rounded rounds a table as integers.
func (k *kernel) rounded(x VecVirtual) {
	switch {
	case k.Narrow:
		VCVTPS2PH(Imm(0), x, x.AsY())
	case !k.Wide:
		odd := Into(K(), VPTESTMD, k.last, x)
		VPADDD_BCST(Dwords(RoundPlain), x, x)
		VPADDD(k.one, x, odd, x)
	}
}
