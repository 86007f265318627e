package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Ordinary scales are those that models have. Under them products are normal
// numbers far from overflow, there is no infinity and no NaN, and no zero whose sign
// matters: two instructions then round, where three and a mask that turns signs
// serve all numbers. In front of a block that has others the kernel stops.
//
// x times 65535 is x times 65536 less x, of which the last bit kept is that of a
// BF16 as large as x, or a finer one if x is next above a power of two, which it then
// rounds to all the same. So the difference of the two is x rounded, to nearest and
// ties to even.

// rounded rounds x to a BF16 in its upper half; the lower half becomes zero.
func rounded(x VecVirtual) {
	less := YMM()
	VMULPS(floats(65535), x, less)
	VFMSUB132PS(floats(65536), less, x)
}

// roundedProduct is products with d, which must be exact, rounded: the numbers are
// multiplied by 65535 and 65536 beforehand. Nothing has the sign of d.
func roundedProduct(d VecVirtual, v ...float32) VecVirtual {
	var less, more []float32
	for _, f := range v {
		more = append(more, 65536*f)
		if f == 0 {
			f = -f // of which the difference has that sign
		}
		less = append(less, 65535*f)
	}
	x := YMM()
	VMULPS(floats(less...), d, x)
	VFMSUB231PS(floats(more...), d, x)
	return x
}

// signedProduct is roundedProduct where the scale may be zero too: x is taken off
// 65537 times x, and what is left off that again, which keeps the sign of x.
func signedProduct(d VecVirtual, v ...float32) VecVirtual {
	var more []float32
	for _, f := range v {
		more = append(more, 65537*f)
	}
	x, left := YMM(), YMM()
	VMULPS(floats(more...), d, x)
	VMOVAPS(x, left)
	VFNMADD231PS(floats(v...), d, left)
	VSUBPS(left, x, x)
	return x
}

// ifHalvesOdd leaves if one of two float16 in front of the block is not finite, or if the
// second is minus zero, to which a sum of zeros would come.
func ifHalvesOdd(k *kernel, label string) { ifHalvesOddAt(k.from(0), label) }

func ifHalvesOddAt(m Mem, label string) {
	r := GP32()
	MOVL(m, r)
	and32(r, 0x7FFF7FFF)
	ADDL(U32(0x04000400), r)
	TESTL(U32(0x80008000), r)
	JNZ(LabelRef(label))
	CMPW(m.Offset(2), U16(0x8000))
	JEQ(LabelRef(label))
}

// ifSignsOdd leaves if one of the two float16 in front of the block is not finite, or
// negative: else scales and minima are finite, and no number is minus zero.
func ifSignsOdd(k *kernel, label string) {
	r, sum := GP32(), GP32()
	MOVL(k.from(0), r)
	LEAL(Mem{Base: r, Disp: 0x04000400}, sum)
	ORL(sum, r)
	TESTL(U32(0x80008000), r)
	JNZ(LabelRef(label))
}

// ifHalfOdd leaves if a float16 is zero or not finite.
func ifHalfOdd(m Mem, label string) {
	r := GP32()
	MOVWLZX(m, r)
	LEAL(Mem{Base: r, Index: r, Scale: 1, Disp: -1}, r)
	CMPW(r.As16(), U16(0x7C00*2-1))
	JCC(LabelRef(label))
}

// ifNotFinite leaves if the float16 in front of the block is no finite number.
func ifNotFinite(k *kernel, label string) {
	r := GP32()
	MOVWLZX(k.from(0), r)
	ANDL(U32(0x7C00), r)
	CMPL(r, U32(0x7C00))
	JEQ(LabelRef(label))
}
