package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Sums and shifts that need no enlarged numbers. Where scales are zero or 2^-80 and more, products of
// an ordinary book are 2^-100 and more: what second numbers, subnormal ones too, make of
// them is normal, or is that number. Beside second numbers of 2^-40 and more, infinity and
// NaN too, a scale of 2^-100 is as good as any smaller one: products of it are below 2^-69,
// which is less than half of a last bit of those, and above 2^-120. So each step is
// one instruction that makes nothing subnormal.

// directs is whether the kernel has this way; registers do not suffice for it in that of half
// bytes to BF16.
func (k *zbook) directs() bool {
	return k.name != "Scale" && (k.each == 2 || k.narrow || k.wide)
}

// direct leaves for "small" where such numbers are not all, else does what is given.
func (k *zbook) direct(ones func()) {
	switch {
	case k.name == "Affine":
		k.directAffine()
	case k.narrow:
		k.directHalves()
	default:
		k.directShift()
	}
	MOVQ(U32(directRuns), k.mode)
	ones()
}

// leaves goes to "small" if the mask has a bit.
func leaves(m OpmaskVirtual) {
	KORTESTW(m, m)
	JNZ(LabelRef("small"))
}

func (k *zbook) directAffine() {
	s, z := k.numbers[0], k.numbers[1]
	size, zx, few := magnitude(s), magnitude(z), K()
	small := k.smallOf(size)
	VPCMPUD_BCST(Imm(1), dwords((127-40)<<23), zx, small, few)
	leaves(few)
	VPMAXUD_BCST(dwords((127-100)<<23), size, small, size)
	keep(signs(size, s, false), k.held.scale)
	keep(z, k.held.second)
}

// directShift takes all second numbers; only in lanes where the book is zero is one
// that is not plain seen as it is.
func (k *zbook) directShift() {
	z, zero := k.numbers[1], ZMM()
	leaves(k.smallOf(magnitude(k.numbers[0])))
	nanOf(z, 0xFFC00000)
	keep(k.settledScale(), k.held.scale)
	keep(k.more(), k.held.more)
	keep(z, k.held.second)
	VPXORD(zero, zero, zero)
	k.differences("same", z, magnitude(z), zero)
}

// directHalves is shifts to F16, of which products below 2^-25 are zeros: those of scales
// up to 2^-60 and differences below 2^34, and those of scales below 2^20 and second numbers up
// to 2^-46, which change none of the book's numbers but zero.
func (k *zbook) directHalves() {
	const faint = (127 - 46) << 23
	s, z := k.numbers[0], k.numbers[1]
	size, zx, large := magnitude(s), magnitude(z), K()
	small := k.smallOf(size)
	VPCMPUD_BCST(Imm(5), dwords((127+33)<<23), zx, small, large)
	leaves(large)
	VPMAXUD_BCST(dwords((127-60)<<23), size, small, size)
	some, less := K(), K()
	VPTESTMD(zx, zx, some)
	VPCMPUD_BCST(Imm(1), dwords(faint), zx, some, less)
	VPCMPUD_BCST(Imm(5), dwords((127+20)<<23), size, less, large)
	leaves(large)
	VPBROADCASTD(dwords(faint), less, zx)
	scale, second := signs(size, s, true), signs(zx, z, false)
	nanOf(scale, 0xFFC00000)
	nanOf(second, 0xFFC00000)
	keep(scale, k.held.scale)
	keep(k.more(), k.held.more)
	keep(second, k.held.second)
}

// directly is what the book comes to in such runs, as a table.
func (k *zbook) directly(x VecVirtual, run int) {
	scale, second := k.of(k.held.scale, run), k.of(k.held.second, run)
	switch {
	case k.name == "Affine":
		sum := ZMM()
		VMULPS_BCST(scale, k.book, sum)
		VADDPS_BCST(second, sum, sum)
		VMOVDQA64(k.quiet, x)
		VFIXUPIMMPS(Imm(0), k.fixup, sum, x)
		k.words(x)
	case k.narrow:
		VSUBPS_BCST(second, k.book, x)
		VMULPS_BCST(scale, x, x)
		k.rounded(x, run)
	default:
		VSUBPS_BCST_Z(second, k.book, k.some, x)
		VMULPS_BCST(scale, x, x)
		VPBROADCASTD(k.of(k.held.half, run), k.zeros, x)
		k.rounded(x, run)
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
