package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// indices are 32 indices from sixteen bytes, or from 32: dwords, or bytes, two for
// each word. The upper four qwords of a register are cut out of the second eight bytes.
func (k *zbook) indices(off int) zcodes {
	switch {
	case k.each == 1 && k.float32():
		a, b := zunsigned(k.from(off)), zunsigned(k.from(off+16))
		VPROLVD(k.order, a, a)
		VPROLVD(k.order, b, b)
		return zcodes{a, b}
	case k.each == 1:
		x := ZMM()
		VMOVDQU32(k.from(off), x.AsY())
		VPERMB(x, k.twice, x)
		VPROLVD(k.order, x, x)
		VPTERNLOGD(Imm(andOr), k.parts, k.code, x)
		return zcodes{x}
	case k.float32():
		a, b := ZMM(), ZMM()
		VPMULTISHIFTQB_BCST(k.from(off), k.order, a)
		VPMULTISHIFTQB_BCST(k.from(off+8), k.order, b)
		return zcodes{a, b}
	}
	x := ZMM()
	VPBROADCASTQ(k.from(off), x)
	VPBROADCASTQ(k.from(off+8), k.upper, x)
	VPMULTISHIFTQB(x, k.order, x)
	VPTERNLOGD(Imm(andOr), k.parts, k.code, x)
	return zcodes{x}
}

// lookup writes what the table has for 32 indices.
func (k *zbook) lookup(at int, c zcodes, t ztable) {
	if !k.float32() {
		k.placed(at, c[0], t)
		return
	}
	for i, c := range c {
		k.zkernel.lookup(at+16*i, zcodes{c}, t[i%k.unit:][:1])
	}
}

// table is what the book comes to in one run, or in two: to BF16 words of
// the first in the upper halves of dwords, of the second in the lower ones.
func (k *zbook) table(t ztable, run int, product func(x VecVirtual, run int)) {
	for i, x := range t {
		product(x, run+i)
	}
	switch {
	case k.float32() || k.unit == 1:
	case k.narrow:
		VINSERTI64X4(Imm(1), t[1].AsY(), t[0], t[0])
	default:
		VPERMB(t[1], k.uppers, k.lower, t[0])
	}
}

// plain is what the book comes to in runs of plain numbers, as a table: to BF16
// the upper halves of dwords.
func (k *zbook) plain(x VecVirtual, run int) {
	from := k.book
	if k.join == joinShift {
		VSUBPS_BCST(Mem{Base: k.b, Disp: 4 * run}, k.book, x)
		from = x
	}
	VMULPS_BCST(Mem{Base: k.a, Disp: 4 * run}, from, x)
	if k.join == joinAffine {
		VADDPS_BCST(Mem{Base: k.b, Disp: 4 * run}, x, x)
	}
	switch {
	case k.narrow || k.wide || k.join == joinShift: // any of which may be zero
		k.words(x)
	default: // as in ordinary.go; zeros keep their sign
		less := ZMM()
		VMULPS(k.less, x, less)
		if k.join == joinScale {
			VFMSUB132PS(k.times, less, k.some, x)
		} else {
			VFMSUB132PS(k.times, less, x)
		}
	}
}

// words rounds a table as integers.
func (k *zbook) words(x VecVirtual) {
	switch {
	case k.narrow:
		VCVTPS2PH(Imm(0), x, x.AsY())
	case !k.wide:
		odd := K()
		VPTESTMD(k.last, x, odd)
		VPADDD_BCST(dwords(roundPlain), x, x)
		VPADDD(k.one, x, odd, x)
	}
}
