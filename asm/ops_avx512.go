//go:build amd64 && !purego

package asm

// avx512 overwrites what has a kernel of 64-byte registers; the rest is the
// level's below.
func (o *Ops) avx512() {
	o.level = AVX512
	o.runsAVX512()
	o.columnsAVX512()
	for to := range o.blocks {
		for k, kernel := range blocksAVX512[to] {
			if kernel != nil {
				o.blocks[to][k] = kernel
			}
		}
	}
}

// columnsAVX512 leaves scales that come as float64 to the level below.
func (o *Ops) columnsAVX512() {
	for i, kernels := range [2][3]columnsKernel{
		{columnsF32AVX512, columnsBF16AVX512, columnsF16AVX512},
		{byteColumnsF32AVX512, byteColumnsBF16AVX512, byteColumnsF16AVX512},
	} {
		for to, kernel := range kernels {
			below := o.columns[i][to]
			o.columns[i][to] = func(dst, src *byte, offsets *uint32, scales, zeros *float32, dstStride, srcStride int, doubles bool, n int) {
				if doubles {
					below(dst, src, offsets, scales, zeros, dstStride, srcStride, doubles, n)
				} else {
					kernel(dst, src, offsets, scales, zeros, dstStride, srcStride, doubles, n)
				}
			}
		}
	}
}

// told is a kernel of blocks that is given something else too.
func told[C any](kernel func(dst, src *byte, c C, n int) (left int), c C) blockKernel {
	return func(dst, src *byte, n int) int { return kernel(dst, src, c, n) }
}

// One row per kind, for each type. Where a row is missing the level below is as
// fast, or nearly.
var blocksAVX512 = [3][Kinds]blockKernel{
	F32: {
		Q4_0:    told(codebookF32AVX512, &minus8Book[0]),
		Q4_1:    q4_1F32AVX512,
		Q5_0:    q5_0F32AVX512,
		Q5_1:    q5_1F32AVX512,
		Q2_K:    q2_KF32AVX512,
		Q3_K:    q3_KF32AVX512,
		Q4_K:    q4_KF32AVX512,
		Q5_K:    q5_KF32AVX512,
		Q6_K:    q6_KF32AVX512,
		IQ1_S:   iq1_SF32AVX512,
		IQ1_M:   iq1_MF32AVX512,
		IQ2_XXS: iq2_XXSF32AVX512,
		IQ2_XS:  iq2_XSF32AVX512,
		IQ2_S:   iq2_SF32AVX512,
		IQ3_XXS: iq3_XXSF32AVX512,
		IQ3_S:   iq3_SF32AVX512,
		IQ4_NL:  told(codebookF32AVX512, &iq4Book[0]),
		IQ4_XS:  iq4_XSF32AVX512,
		Q2_0:    q2_0F32AVX512,
	},
	BF16: {
		Q4_0:    told(codebookBF16AVX512, &minus8Book[0]),
		Q4_1:    q4_1BF16AVX512,
		Q5_0:    q5_0BF16AVX512,
		Q5_1:    q5_1BF16AVX512,
		Q8_0:    told(q8BF16AVX512, 34),
		Q8_1:    told(q8BF16AVX512, 36),
		Q2_K:    q2_KBF16AVX512,
		Q3_K:    q3_KBF16AVX512,
		Q4_K:    q4_KBF16AVX512,
		Q6_K:    q6_KBF16AVX512,
		IQ1_M:   iq1_MBF16AVX512,
		IQ3_XXS: iq3_XXSBF16AVX512,
		IQ4_NL:  told(codebookBF16AVX512, &iq4Book[0]),
		IQ4_XS:  iq4_XSBF16AVX512,
		TQ1_0:   tq1_0BF16AVX512,
		Q1_0:    q1_0BF16AVX512,
		Q2_0:    q2_0BF16AVX512,
	},
	F16: {
		Q4_0:    told(codebookF16AVX512, &minus8Book[0]),
		Q4_1:    q4_1F16AVX512,
		Q5_0:    q5_0F16AVX512,
		Q5_1:    q5_1F16AVX512,
		Q8_0:    told(q8F16AVX512, 34),
		Q8_1:    told(q8F16AVX512, 36),
		Q2_K:    q2_KF16AVX512,
		Q3_K:    q3_KF16AVX512,
		Q4_K:    q4_KF16AVX512,
		Q5_K:    q5_KF16AVX512,
		Q6_K:    q6_KF16AVX512,
		IQ1_S:   iq1_SF16AVX512,
		IQ1_M:   iq1_MF16AVX512,
		IQ2_XXS: iq2_XXSF16AVX512,
		IQ2_XS:  iq2_XSF16AVX512,
		IQ2_S:   iq2_SF16AVX512,
		IQ3_XXS: iq3_XXSF16AVX512,
		IQ3_S:   iq3_SF16AVX512,
		IQ4_NL:  told(codebookF16AVX512, &iq4Book[0]),
		IQ4_XS:  iq4_XSF16AVX512,
		MXFP4:   told(mxfp4F16AVX512, &mxfp4Halves[0][0][0]),
		NVFP4:   told(nvfp4F16AVX512, &nvfp4Halves[0][0][0]),
		TQ1_0:   tq1_0F16AVX512,
		Q1_0:    q1_0F16AVX512,
		Q2_0:    q2_0F16AVX512,
	},
}
