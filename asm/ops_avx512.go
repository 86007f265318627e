//go:build amd64 && !purego

package asm

// avx512 overwrites what has a kernel of 64-byte registers; the rest is the
// level's below.
func (o *Ops) avx512() {
	o.level = AVX512
	o.runsAVX512()
	o.columns = [2][3]columnsKernel{
		{columnsF32AVX512, columnsBF16AVX512, columnsF16AVX512},
		{byteColumnsF32AVX512, byteColumnsBF16AVX512, byteColumnsF16AVX512},
	}
	for to := range o.blocks {
		for k, kernel := range blocksAVX512[to] {
			if kernel != nil {
				o.blocks[to][k] = takesAll(kernel)
			}
		}
	}
}

// One row per kind, for each type.
var blocksAVX512 = [3][Kinds]func(dst, src *byte, n int){
	F32: {
		Q4_0:    with(bookedF32AVX512, &minus8Book[0]),
		Q4_1:    q4_1F32AVX512,
		Q5_0:    q5_0F32AVX512,
		Q5_1:    q5_1F32AVX512,
		Q8_0:    with(q8F32AVX512, 34),
		Q8_1:    with(q8F32AVX512, 36),
		Q2_K:    q2_KF32AVX512,
		Q3_K:    q3_KF32AVX512,
		Q4_K:    q4_KF32AVX512,
		Q5_K:    q5_KF32AVX512,
		Q6_K:    q6_KF32AVX512,
		Q8_K:    q8_KF32AVX512,
		IQ1_S:   iq1_SF32AVX512,
		IQ1_M:   iq1_MF32AVX512,
		IQ2_XXS: iq2_XXSF32AVX512,
		IQ2_XS:  iq2_XSF32AVX512,
		IQ2_S:   iq2_SF32AVX512,
		IQ3_XXS: iq3_XXSF32AVX512,
		IQ3_S:   iq3_SF32AVX512,
		IQ4_NL:  with(bookedF32AVX512, &iq4Book[0]),
		IQ4_XS:  iq4_XSF32AVX512,
		TQ1_0:   tq1_0F32AVX512,
		TQ2_0:   tq2_0F32AVX512,
		MXFP4:   with(mxfp4F32AVX512, &mxfp4Tables[0][0][0]),
		NVFP4:   with(nvfp4F32AVX512, &nvfp4Tables[0][0][0]),
		Q1_0:    q1_0F32AVX512,
		Q2_0:    q2_0F32AVX512,
	},
	BF16: {
		Q4_0:    with(bookedBF16AVX512, &minus8Book[0]),
		Q4_1:    q4_1BF16AVX512,
		Q5_0:    q5_0BF16AVX512,
		Q5_1:    q5_1BF16AVX512,
		Q8_0:    with(q8BF16AVX512, 34),
		Q8_1:    with(q8BF16AVX512, 36),
		Q2_K:    q2_KBF16AVX512,
		Q3_K:    q3_KBF16AVX512,
		Q4_K:    q4_KBF16AVX512,
		Q5_K:    q5_KBF16AVX512,
		Q6_K:    q6_KBF16AVX512,
		Q8_K:    q8_KBF16AVX512,
		IQ1_S:   iq1_SBF16AVX512,
		IQ1_M:   iq1_MBF16AVX512,
		IQ2_XXS: iq2_XXSBF16AVX512,
		IQ2_XS:  iq2_XSBF16AVX512,
		IQ2_S:   iq2_SBF16AVX512,
		IQ3_XXS: iq3_XXSBF16AVX512,
		IQ3_S:   iq3_SBF16AVX512,
		IQ4_NL:  with(bookedBF16AVX512, &iq4Book[0]),
		IQ4_XS:  iq4_XSBF16AVX512,
		TQ1_0:   tq1_0BF16AVX512,
		TQ2_0:   tq2_0BF16AVX512,
		MXFP4:   with(mxfp4BF16AVX512, &mxfp4Tables[0][0][0]),
		NVFP4:   with(nvfp4BF16AVX512, &nvfp4Tables[0][0][0]),
		Q1_0:    q1_0BF16AVX512,
		Q2_0:    q2_0BF16AVX512,
	},
	F16: {
		Q4_0:    with(bookedF16AVX512, &minus8Book[0]),
		Q4_1:    q4_1F16AVX512,
		Q5_0:    q5_0F16AVX512,
		Q5_1:    q5_1F16AVX512,
		Q8_0:    with(q8F16AVX512, 34),
		Q8_1:    with(q8F16AVX512, 36),
		Q2_K:    q2_KF16AVX512,
		Q3_K:    q3_KF16AVX512,
		Q4_K:    q4_KF16AVX512,
		Q5_K:    q5_KF16AVX512,
		Q6_K:    q6_KF16AVX512,
		Q8_K:    q8_KF16AVX512,
		IQ1_S:   iq1_SF16AVX512,
		IQ1_M:   iq1_MF16AVX512,
		IQ2_XXS: iq2_XXSF16AVX512,
		IQ2_XS:  iq2_XSF16AVX512,
		IQ2_S:   iq2_SF16AVX512,
		IQ3_XXS: iq3_XXSF16AVX512,
		IQ3_S:   iq3_SF16AVX512,
		IQ4_NL:  with(bookedF16AVX512, &iq4Book[0]),
		IQ4_XS:  iq4_XSF16AVX512,
		TQ1_0:   tq1_0F16AVX512,
		TQ2_0:   tq2_0F16AVX512,
		MXFP4:   with(mxfp4BF16AVX512, &mxfp4Halves[0][0][0]),
		NVFP4:   with(nvfp4BF16AVX512, &nvfp4Halves[0][0][0]),
		Q1_0:    q1_0F16AVX512,
		Q2_0:    q2_0F16AVX512,
	},
}
