//go:build !purego

package asm

// arch overwrites what the levels of the set have, worst first.
func (o *Ops) arch(f Features) {
	if f.has(avx2) {
		o.avx2()
	}
	if f.has(avx512) {
		o.avx512()
	}
}

func (o *Ops) avx2() {
	o.level = avx2
	o.avx2Kernels()
	o.exact[F32] = o.blocks[F32]
	o.search = searchKernels{
		weigh:     [weighings]laneKernel{byMatrix: importanceAVX2, bySquare: squaresAVX2, byMagnitude: magnitudesAVX2, byNearness: nearAVX2},
		affine:    [2]laneKernel{affineAVX2, affineAbsoluteAVX2},
		symmetric: symmetricAVX2,
		moves:     movesAVX2,
		codebook:  codebookSearchAVX2,
		codes:     codebookCodesAVX2,
		choose:    chooseAVX2,
		times:     chooseTimesAVX2,
		levels:    gridLevelsAVX2,
		fits:      gridFitsAVX2,
		near:      [4]nearKernel{2: gridNearAVX2, 3: gridNearWideAVX2},
	}
	o.rows[Q8_0], o.rows[Q4_0], o.rows[NVFP4] = encodeQ8_0AVX2, encodeQ4_0AVX2, encodeNVFP4AVX2
	o.rows[Q5_0] = ruleQ5_0.by(symmetricCodesAVX2)
	o.rows[Q4_1], o.rows[Q5_1] = ruleQ4_1.by(affineCodesAVX2), ruleQ5_1.by(affineCodesAVX2)
	o.e4m3Times = e4m3TimesAVX2
	o.e4m3Over = [3]e4m3Kernel{F32: e4m3OverF32AVX2, BF16: e4m3OverBF16AVX2, F16: e4m3OverF16AVX2}
	o.e2m1Over = [3]e4m3Kernel{F32: e2m1OverF32AVX2, BF16: e2m1OverBF16AVX2, F16: e2m1OverF16AVX2}
	o.rows[MXFP4] = func(dst *byte, src *float32, n int) { encodeMXFP4AVX2(dst, src, &mxfp4Bounds()[0], n) }
}

// swapOrders is how the bytes of numbers of each size are reversed.
var swapOrders = func() (orders [9][16]byte) {
	for _, size := range []int{2, 4, 8} {
		for i := range orders[size] {
			orders[size][i] = byte(i ^ (size - 1))
		}
	}
	return orders
}()
