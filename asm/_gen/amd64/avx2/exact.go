package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A run is ordinary if its scale is zero or at least 2^-80, and its zero point is zero or
// at least 2^-46: then no factor or product is subnormal, which holds up a multiplication
// for a hundred cycles. Additions it does not, so that a minimum may be any number. All
// other runs go one exact way: they are multiplied as doubles, of which no product of two
// float32 is rounded, and then rounded to float32 once, or by a [smallProduct].
const (
	leastScale = (127 - 80) << 23
	leastZero  = (127 - 46) << 23
)

// ifHostile leaves where the numbers of the run are not ordinary. Least
// is what the bits of a scale must be at least; zero, less one, is above all others.
func (k *runs) ifHostile(o Join, least Op, to Place) {
	ifBelow(Mem{Base: k.a}, least, to)
	if o == JoinShift {
		ifBelow(Mem{Base: k.b}, U32(leastZero-1), to)
	}
}

// exactNumbers brings the numbers of the run into p, the scale as doubles.
func (k *runs) exactNumbers(o Join, p pair) {
	k.numbersInto(o, p)
	VCVTPS2PD(p.d.AsX(), p.d)
}

// exactly is [pair.apply] of eight float32 with a scale in doubles.
func (p pair) exactly(o Join, x VecVirtual) {
	if o == JoinShift {
		VSUBPS(p.m, x, x)
	}
	high := YMM()
	VEXTRACTF128(Imm(1), x, high.AsX())
	for _, x := range [2]VecVirtual{x, high} {
		VCVTPS2PD(x.AsX(), x)
		VMULPD(p.d, x, x)
		VCVTPD2PSY(x, x.AsX())
	}
	VINSERTF128(Imm(1), high.AsX(), x, x)
	if o == JoinAffine {
		VADDPS(p.m, x, x)
	}
}

// A smallProduct is products with a scale below 2^-80 without a subnormal factor or
// result: all are 2^128 times as large, which in bits is one bit more. A product of
// normal size is rounded right so. Half of it added to 2, or -2, is rounded where
// subnormal numbers are; of both, as integers, the larger one is right.
type smallProduct struct {
	times, half, two VecVirtual
	mask             Op // all bits but the enlarged one
}

const enlargedBit = 1 << 30

// smallScale takes the scale of the run, which is not above 2^-80 and may be zero.
func (k *runs) smallScale() *smallProduct {
	s := &smallProduct{YMM(), YMM(), Load32(Dwords(enlargedBit)), Dwords(^uint32(enlargedBit))}
	VBROADCASTSS(Mem{Base: k.a}, s.times)
	times2to128(s.times)
	VMULPS(Floats(0.5), s.times, s.half)
	return s
}

// unlessSmall makes it one of another scale, unless the bits of that are at most so many: products stay as they are.
func (s *smallProduct) unlessSmall(k *runs, most uint32) {
	mask, small, kept := Load32(s.mask.(Mem)), NewLabel("small"), k.Local(32)
	ifBelow(Mem{Base: k.a}, U32(most), small)
	VBROADCASTSS(Mem{Base: k.a}, s.times)
	quieted(s.times)
	VPCMPEQD(mask, mask, mask)
	VPXOR(s.half, s.half, s.half)
	VPXOR(s.two, s.two, s.two)
	small.Here()
	VMOVDQU(mask, kept)
	s.mask = kept
}

// negate changes the sign of products.
func (s *smallProduct) negate(minus Op) {
	VXORPS(minus, s.times, s.times)
	VXORPS(minus, s.half, s.half)
}

// times2to128 multiplies by 2^128 with integers. To a subnormal number the exponent is added
// too, and the leading one that this counts is taken off: the less of both is right.
func times2to128(d VecVirtual) {
	mag := Into(YMM(), VANDPS, Dwords(0x7FFFFFFF), d)
	VXORPS(mag, d, d)
	x := Into(YMM(), VPADDD, Dwords(129<<23), mag)
	VPADDD(Dwords(128<<23), mag, mag)
	VSUBPS(Dwords(129<<23), x, x)
	VMINPS(x, mag, mag)
	VORPS(mag, d, d)
}

// round makes x the product of x and half of a factor, of which the whole product,
// enlarged, is p.
func (s *smallProduct) round(p, half, x VecVirtual) {
	s.larger(p, half, x)
	VPAND(s.mask, x, x)
}

// larger is round but for the enlarged bit.
func (s *smallProduct) larger(p, half, x VecVirtual) {
	two := YMM()
	VPSIGND(p, s.two, two)
	VFMADD231PS(half, x, two)
	VPMAXUD(p, two, x)
}

// of multiplies finite numbers below 2^80.
func (s *smallProduct) of(x VecVirtual) {
	p := Into(YMM(), VMULPS, s.times, x)
	s.round(p, s.half, x)
}

// leastForCodebook is what the bits of a scale under a codebook must be at least, less one:
// leastScale if all its numbers are zero or from 2^-20 to 2^30, else more than any.
func leastForCodebook(a, b VecVirtual) Register {
	least, outside, none := GP32(), YMM(), GP32()
	VPXOR(outside, outside, outside)
	for _, x := range [2]VecVirtual{a, b} {
		mag, zero, under, over := YMM(), YMM(), YMM(), YMM()
		VPAND(Dwords(0x7FFFFFFF), x, mag)
		VPXOR(zero, zero, zero)
		VPCMPEQD(zero, mag, zero)
		VPCMPGTD(mag, Load32(Dwords((127-20)<<23)), under)
		VPCMPGTD(Dwords((127+30)<<23), mag, over)
		VPANDN(under, zero, under)
		VPOR(under, outside, outside)
		VPOR(over, outside, outside)
	}
	VMOVMSKPS(outside, none)
	MOVL(U32(leastScale-1), least)
	NEGL(none) // the carry is whether there is one
	SBBL(none, none)
	ORL(none, least)
	return least
}

// Ordinary scales are those that models have. Under them products are normal
// numbers far from overflow, there is no infinity and no NaN, and no zero whose sign
// matters: two instructions then round, where three and a mask that changes signs
// serve all numbers. In front of a block that has others the kernel stops.
//
// x times 65535 is x times 65536 less x, of which the last bit kept is that of a
// BF16 as large as x, or a finer one if x is next above a power of two, which it then
// rounds to all the same. So the difference of the two is x rounded, to nearest and
// ties to even.

// rounded rounds x to a BF16 in its upper half; the lower half becomes zero.
func rounded(x VecVirtual) {
	less := Into(YMM(), VMULPS, Floats(65535), x)
	VFMSUB132PS(Floats(65536), less, x)
}

// signedProduct is products with d, which must be exact, rounded, where d may be zero too: x is
// taken off 65537 times x, and what is left off that again, which keeps the sign of x.
func signedProduct(d VecVirtual, v ...float32) VecVirtual {
	var more []float32
	for _, f := range v {
		more = append(more, 65537*f)
	}
	x := Into(YMM(), VMULPS, Floats(more...), d)
	left := Into(YMM(), VMOVAPS, x)
	VFNMADD231PS(Floats(v...), d, left)
	VSUBPS(left, x, x)
	return x
}

// ifHalvesOdd leaves if one of two float16 in front of the block is not finite, or if the
// second is minus zero, to which a sum of zeros would come.
func ifHalvesOdd(k *kernel, to Place) {
	m := k.From(0)
	r := Into(GP32(), MOVL, m)
	and32(r, 0x7FFF7FFF)
	ADDL(U32(0x04000400), r)
	TESTL(U32(0x80008000), r)
	JNZ(to.Ref())
	CMPW(m.Offset(2), U16(0x8000))
	JEQ(to.Ref())
}

// ifSignsOddAt leaves if one of the two float16 at a byte of the block is not finite, or
// negative: else scales and minima are finite, and no number is minus zero.
func ifSignsOddAt(off int) func(*kernel, Place) {
	return func(k *kernel, to Place) {
		r := Into(GP32(), MOVL, k.From(off))
		sum := Into(GP32(), LEAL, Mem{Base: r, Disp: 0x04000400})
		ORL(sum, r)
		TESTL(U32(0x80008000), r)
		JNZ(to.Ref())
	}
}

// ifNotFinite leaves if the float16 in front of the block is no finite number.
func ifNotFinite(k *kernel, to Place) {
	r := Into(GP32(), MOVWLZX, k.From(0))
	ANDL(U32(0x7C00), r)
	CMPL(r, U32(0x7C00))
	JEQ(to.Ref())
}
