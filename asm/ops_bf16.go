//go:build amd64 && !purego

package asm

// avx512BF16 overwrites what rounds to BF16 by the instruction for it. That
// takes subnormal numbers for zero, so what may come to some stays as it is.
func (o *Ops) avx512BF16() {
	o.level = AVX512BF16
	for k, kernel := range blocksBF16 {
		if kernel != nil {
			o.blocks[BF16][k] = takesAll(kernel)
		}
	}
	for f := range Float(Floats8) {
		o.float8[BF16][f] = wordsFloat8(f, float8Odds[0][f], float8FewAVX512BF16, float8OddAVX512BF16, float8By(float8BF16AVX512BF16, f))
	}
	o.bytes[BF16] = longBytes(bytesScaleBF16AVX512BF16, bytesShiftBF16AVX512BF16, bytesAffineBF16AVX512BF16, bytesTwiceBF16AVX512)
	o.each[BF16] = eachPairs(BF16, eachBF16AVX512BF16)
	o.cast[F16][BF16] = castF16ToBF16AVX512BF16
}

// The products of MXFP4 and NVFP4 are not rounded, and Q1_0 is faster without the
// instruction.
var blocksBF16 = [Kinds]func(dst, src *byte, n int){
	Q4_0:    with(bookedBF16AVX512BF16, &minus8Book[0]),
	Q4_1:    q4_1BF16AVX512BF16,
	Q5_0:    q5_0BF16AVX512BF16,
	Q5_1:    q5_1BF16AVX512BF16,
	Q8_0:    with(q8BF16AVX512BF16, 34),
	Q8_1:    with(q8BF16AVX512BF16, 36),
	Q2_K:    q2_KBF16AVX512BF16,
	Q3_K:    q3_KBF16AVX512BF16,
	Q4_K:    q4_KBF16AVX512BF16,
	Q5_K:    q5_KBF16AVX512BF16,
	Q6_K:    q6_KBF16AVX512BF16,
	Q8_K:    q8_KBF16AVX512BF16,
	IQ1_S:   iq1_SBF16AVX512BF16,
	IQ1_M:   iq1_MBF16AVX512BF16,
	IQ2_XXS: iq2_XXSBF16AVX512BF16,
	IQ2_XS:  iq2_XSBF16AVX512BF16,
	IQ2_S:   iq2_SBF16AVX512BF16,
	IQ3_XXS: iq3_XXSBF16AVX512BF16,
	IQ3_S:   iq3_SBF16AVX512BF16,
	IQ4_NL:  with(bookedBF16AVX512BF16, &iq4Book[0]),
	IQ4_XS:  iq4_XSBF16AVX512BF16,
	TQ1_0:   tq1_0BF16AVX512BF16,
	TQ2_0:   tq2_0BF16AVX512BF16,
	Q2_0:    q2_0BF16AVX512BF16,
}
