package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Ordinary books under numbers that are not plain: what each operation has in
// memory for sixteen runs, and what a run makes of it. Of two NaN the product's counts;
// sums make each that is left the one.

func (k *zbook) prepare() {
	switch k.name {
	case "Scale":
		k.prepareScale()
	case "Shift":
		k.prepareShift()
	default:
		k.prepareAffine()
	}
}

// small is what an ordinary book comes to, as a table.
func (k *zbook) small(x VecVirtual, run int) {
	switch k.name {
	case "Scale":
		k.smallScale(x, run)
	case "Shift":
		k.smallShift(x, run)
	default:
		k.smallAffine(x, run)
	}
	k.rounded(x, run)
}

func (k *zbook) prepareScale() {
	s, x, more := k.numbers[0], magnitude(k.numbers[0]), k.more()
	small := k.smallOf(x)
	if k.narrow { // F16 has nothing so small
		VPMAXUD_BCST(dwords((127-80)<<23), x, x)
	} else {
		enlarge(x, small)
		keep(where(127<<23, small), k.held.one)
		VPSUBD_BCST(dwords(enlarged), more, small, more)
	}
	y := signs(x, s, true)
	nanOf(y, 0xFFC00000)
	keep(x, k.held.size)
	keep(y, k.held.scale)
	keep(more, k.held.more)
}

func (k *zbook) smallScale(x VecVirtual, run int) {
	if k.narrow {
		VMULPS_BCST(k.of(k.held.scale, run), k.book, x)
		return
	}
	p, f := ZMM(), ZMM()
	VMULPS_BCST(k.of(k.held.scale, run), k.book, p)
	VPBROADCASTD(k.of(k.held.size, run), f)
	VFMADD213PS_BCST(k.of(k.held.one, run), k.half, f)
	VRANGEPS(Imm(3), f, p, x) // the larger one, with the sign of the product
}

// prepareShift has a product of its own for lanes where the book is zero: there
// the difference may be subnormal. A small scale is enlarged twice as much to
// multiply by as to add to 2, and by 2^64 if the second number is so large that
// products would overflow; the latter's infinity needs no scale but a sign.
func (k *zbook) prepareShift() {
	s, z, more := k.numbers[0], k.numbers[1], k.more()
	size, scale, amount, zx := magnitude(s), ZMM(), ZMM(), magnitude(z)
	small := k.smallOf(size)
	large, special, scaled := K(), K(), K()
	if !k.narrow {
		enlarge(size, small)
	}
	VPCMPUD_BCST(Imm(5), dwords((127+33)<<23), zx, small, large)
	VPCMPUD_BCST(Imm(5), dwords(0x7F800000), zx, large, special)
	KANDNW(small, large, scaled)
	if k.narrow { // F16 has nothing so small
		enlarge(size, large)
		VPMAXUD_BCST(dwords((127-60)<<23), size, scaled, size)
	}
	VPSUBD_BCST(dwords(63<<23), size, large, size)
	VPBROADCASTD(dwords(127<<23), special, size)
	VMOVDQA64(size, scale)
	VPBROADCASTD_Z(dwords(64<<23), large, amount)
	VPXORD(amount, amount, special, amount)
	if !k.narrow {
		VPADDD_BCST(dwords(1<<23), size, scaled, scale)
		VPBROADCASTD(dwords(128<<23), scaled, amount)
		keep(where(128<<23, scaled), k.held.one)
	}
	VPSUBD(amount, more, more)
	keep(more, k.held.more)
	scale = signs(scale, s, true)
	nanOf(scale, 0xFFC00000)
	nanOf(z, 0xFFC00000)
	keep(size, k.held.size)
	keep(scale, k.held.scale)
	keep(z, k.held.second)
	k.differences("alike", z, zx, amount)
}

// differences is what zero less a second number comes to, for groups where one of
// those is not plain; any other group goes on at the label.
func (k *zbook) differences(alike string, z, zx, amount VecVirtual) {
	some, odd, zeros, none := K(), K(), GP32(), GP32()
	VPTESTMD(zx, zx, some)
	VPSUBD(k.tests[1].least, zx, zx)
	VPCMPUD(Imm(5), k.tests[1].span, zx, some, odd)
	MOVL(k.zeroBits, zeros)
	XORL(none, none)
	KORTESTW(odd, odd)
	CMOVLEQ(none, zeros)
	KMOVW(zeros, k.zeros)
	KNOTW(k.zeros, k.some)
	KORTESTW(odd, odd)
	JZ(LabelRef(alike))
	x, difference := k.settledScale(), ZMM()
	VPXORD(difference, difference, difference)
	VSUBPS(z, difference, difference)
	a, b := inDoubles(x), inDoubles(difference)
	for i := range a {
		VMULPD(a[i], b[i], a[i])
		VCVTPD2PS(a[i], a[i].AsY())
	}
	VINSERTI64X4(Imm(1), a[1].AsY(), a[0], a[0])
	VPADDD(amount, a[0], a[0])
	keep(a[0], k.held.half)
	Label(alike)
}

func (k *zbook) smallShift(x VecVirtual, run int) {
	p, f := ZMM(), ZMM()
	VSUBPS_BCST_Z(k.of(k.held.second, run), k.book, k.some, x)
	VMULPS_BCST(k.of(k.held.scale, run), x, p)
	if k.narrow {
		VMOVDQA64(p, x)
		VPBROADCASTD(k.of(k.held.half, run), k.zeros, x)
		return
	}
	VPBROADCASTD(k.of(k.held.size, run), f)
	VPANDD(k.sizes, x, x)
	VFMADD213PS_BCST(k.of(k.held.one, run), x, f)
	VRANGEPS(Imm(3), f, p, x)
	VPBROADCASTD(k.of(k.held.half, run), k.zeros, x)
}

// prepareAffine enlarges both numbers where both are small: products of less than
// 2 are rounded as by adding 2, and sums of less are half of them added to 1. Beside a
// second number that is not small a scale of 2^-100 is as good as any smaller one.
func (k *zbook) prepareAffine() {
	s, z, more := k.numbers[0], k.numbers[1], k.more()
	size, zx := magnitude(s), magnitude(z)
	small := k.smallOf(size)
	scaled, beside := K(), K()
	VPCMPUD_BCST(Imm(1), dwords((127-40)<<23), zx, small, scaled)
	KANDNW(small, scaled, beside)
	VPMAXUD_BCST(dwords((127-100)<<23), size, beside, size)
	enlarge(size, scaled)
	VPTESTMD(zx, zx, scaled, small)
	enlarge(zx, small)
	size, zx = signs(size, s, false), signs(zx, z, false)
	VPSUBD_BCST(dwords(enlarged), more, scaled, more)
	keep(size, k.held.scale)
	keep(zx, k.held.second)
	keep(more, k.held.more)
	keep(where(128<<23, scaled), k.held.size)
	if k.narrow { // of which only the sign is left
		every := ZMM()
		VPTERNLOGD(Imm(0xFF), every, every, every)
		VPBROADCASTD(dwords(0x80000000), scaled, every)
		keep(every, k.held.one)
		return
	}
	keep(where(127<<23, scaled), k.held.one)
	keep(where(126<<23, scaled), k.held.half)
}

func (k *zbook) smallAffine(x VecVirtual, run int) {
	p, two, f, large := ZMM(), ZMM(), ZMM(), K()
	VMULPS_BCST(k.of(k.held.scale, run), k.book, p)
	VMOVDQA64(p, two)
	VPTERNLOGD_BCST(Imm(0xEA), k.of(k.held.size, run), k.sign, two) // p & sign | two
	VMOVDQA64(two, f)
	VFMADD231PS_BCST(k.of(k.held.scale, run), k.book, f)
	VPTESTNMD(k.two, p, large)
	VMOVDQA64(p, x)
	VSUBPS(two, f, large, x)
	VPTERNLOGD(Imm(0xF8), k.sign, p, x) // x | p & sign
	VADDPS_BCST(k.of(k.held.second, run), x, x)
	if k.narrow {
		VPANDD_BCST(k.of(k.held.one, run), x, p)
		VMOVDQA64(k.quiet, x)
		VFIXUPIMMPS(Imm(0), k.fixup, p, x)
		return
	}
	one := ZMM()
	VMOVDQA64(x, one)
	VPTERNLOGD_BCST(Imm(0xEA), k.of(k.held.one, run), k.sign, one)
	VFMADD231PS_BCST(k.of(k.held.half, run), x, one)
	VRANGEPS(Imm(3), one, x, p)
	VMOVDQA64(k.quiet, x)
	VFIXUPIMMPS(Imm(0), k.fixup, p, x)
}
