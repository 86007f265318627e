package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Sums that need no enlarged numbers. Where scales are zero or 2^-80 and more, products of
// an ordinary book are 2^-100 and more: what second numbers, subnormal ones too, make of
// them is normal, or is that number. Beside second numbers of 2^-40 and more, infinity and
// NaN too, a scale of 2^-100 is as good as any smaller one: products of it are below 2^-69,
// which is less than half of a last bit of those, and above 2^-120. So each step is
// one instruction that makes nothing subnormal.

// direct leaves for "small" where such scales are not all, else does what is given.
func (k *zbook) direct(ones func()) {
	s, z := k.numbers[0], k.numbers[1]
	size, zx, few := magnitude(s), magnitude(z), K()
	small := k.smallOf(size)
	VPCMPUD_BCST(Imm(1), dwords((127-40)<<23), zx, small, few)
	KORTESTW(few, few)
	JNZ(LabelRef("small"))
	VPMAXUD_BCST(dwords((127-100)<<23), size, small, size)
	keep(signs(size, s, false), k.held.scale)
	keep(z, k.held.second)
	MOVQ(U32(directRuns), k.mode)
	ones()
}

// directly is what the book comes to in such runs, as a table.
func (k *zbook) directly(x VecVirtual, run int) {
	sum := ZMM()
	VMULPS_BCST(k.of(k.held.scale, run), k.book, sum)
	VADDPS_BCST(k.of(k.held.second, run), sum, sum)
	VMOVDQA64(k.quiet, x)
	VFIXUPIMMPS(Imm(0), k.fixup, sum, x)
	k.words(x)
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
