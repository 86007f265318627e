//go:build !purego

package asm

// arch overwrites what the levels of the set have, worst first.
func (o *Ops) arch(f Features) {
	if f.Has(AVX2) {
		o.avx2()
	}
	if f.Has(AVX512) {
		o.avx512()
	}
	if f.Has(AVX512BF16) {
		o.avx512BF16()
	}
}

func (o *Ops) avx2() {
	o.level = AVX2
	o.blocks = allOf(blocksAVX2)
	o.blocks[BF16][Q5_1], o.blocks[BF16][Q4_K], o.blocks[BF16][Q5_K], o.blocks[BF16][IQ4_XS] = q5_1BF16AVX2, q4_KBF16AVX2, q5_KBF16AVX2, iq4_XSBF16AVX2
	o.exact = o.blocks[F32]
	o.float8 = [3][Floats8]float8Kernel{
		F32:  {float8E4M3F32AVX2, float8E5M2F32AVX2, float8E4M3FNUZF32AVX2},
		BF16: {float8E4M3BF16AVX2, float8E5M2BF16AVX2, float8E4M3FNUZBF16AVX2},
		F16:  {float8E4M3F16AVX2, float8E5M2F16AVX2, float8E4M3FNUZF16AVX2},
	}
	o.bytes = [3][bytesTwice + 1]bytesKernel{
		F32:  {bytesScaleF32AVX2, bytesShiftF32AVX2, bytesAffineF32AVX2, bytesTwiceF32AVX2},
		BF16: {bytesScaleBF16AVX2, bytesShiftBF16AVX2, bytesAffineBF16AVX2, bytesTwiceBF16AVX2},
		F16:  {bytesScaleF16AVX2, bytesShiftF16AVX2, bytesAffineF16AVX2, bytesTwiceF16AVX2},
	}
	o.nibbles = [3][2][opsN][2]bookKernel{
		F32: {
			{
				{bookLowScale32F32AVX2},
				{bookLowShift32F32AVX2},
				{bookLowAffine32F32AVX2, bookLowAffine64F32AVX2},
			},
			{Scale: {bookHighScale32F32AVX2}},
		},
		BF16: {
			{
				{bookLowScale32BF16AVX2, bookLowScale64BF16AVX2},
				{bookLowShift32BF16AVX2, bookLowShift64BF16AVX2},
				{bookLowAffine32BF16AVX2, bookLowAffine64BF16AVX2},
			},
			{Scale: {bookHighScale32BF16AVX2, bookHighScale64BF16AVX2}},
		},
		F16: {
			{
				{bookLowScale32F16AVX2, bookLowScale64F16AVX2},
				{bookLowShift32F16AVX2, bookLowShift64F16AVX2},
				{bookLowAffine32F16AVX2, bookLowAffine64F16AVX2},
			},
			{Scale: {bookHighScale32F16AVX2, bookHighScale64F16AVX2}},
		},
	}
	o.pairs = [3][2]bookKernel{
		F32: {bookPairsF32AVX2}, BF16: {bookPairsBF16AVX2}, F16: {bookPairsF16AVX2},
	}
	o.halfBytes = [3]func(dst, src *byte, a, b *float32, book *float32, shift *uint64, chunks, n int){
		F32: halfBytesShiftF32AVX2, BF16: halfBytesShiftBF16AVX2, F16: halfBytesShiftF16AVX2,
	}
	o.movesAVX2()
	o.special = [3]func(counts *uint32, src *byte, n int){
		F32: with(special32AVX2, infinities[F32]), BF16: with(special16AVX2, infinities[BF16]), F16: with(special16AVX2, infinities[F16]),
	}
	o.absmax, o.nearest, o.int8 = absmaxAVX2, nearestAVX2, int8AVX2
	o.cast = [3][3]func(dst, src *byte, n int){
		F32:  {castF32ToF32AVX2, castF32ToBF16AVX2, castF32ToF16AVX2},
		BF16: {castBF16ToF32AVX2, castBF16ToBF16AVX2, castBF16ToF16AVX2},
		F16:  {castF16ToF32AVX2, castF16ToBF16AVX2, castF16ToF16AVX2},
	}
}

// movesAVX2 is what brings codes and numbers to their places.
func (o *Ops) movesAVX2() {
	o.columns = [2][3]columnsKernel{
		{columnsF32AVX2, columnsBF16AVX2, columnsF16AVX2},
		{byteColumnsF32AVX2, byteColumnsBF16AVX2, byteColumnsF16AVX2},
	}
	o.each = [3]func(dst *byte, src, a, b *float32, n int){F32: eachF32AVX2, BF16: eachBF16AVX2, F16: eachF16AVX2}
	o.expand[1], o.expand[2], o.expand[4] = expand1AVX2, expand2AVX2, expand4AVX2
	o.pick = pickAVX2
	o.transpose[1] = transpose1AVX2
	o.transpose[2], o.transpose[4], o.transpose[8] = transpose2AVX2, transpose4AVX2, transpose8AVX2
	o.swapBy(swapAVX2)
	o.lanes, o.spread, o.fields = lanesAVX2, spreadAVX2, fieldsAVX2
}

// swapBy turns around the bytes of numbers of each size by their orders.
func (o *Ops) swapBy(kernel func(dst, src, order *byte, n int)) {
	for _, size := range []int{2, 4, 8} {
		order := new([16]byte)
		for i := range order {
			order[i] = byte(i ^ (size - 1))
		}
		o.swap[size] = with(kernel, &order[0])
	}
}

// One row per kind, for each type.
var blocksAVX2 = [3][Kinds]func(dst, src *byte, n int){
	F32: {
		Q4_0:    with(bookedF32AVX2, &minus8Book[0]),
		Q4_1:    q4_1F32AVX2,
		Q5_0:    q5_0F32AVX2,
		Q5_1:    q5_1F32AVX2,
		Q8_0:    with(q8F32AVX2, 34),
		Q8_1:    with(q8F32AVX2, 36),
		Q2_K:    q2_KF32AVX2,
		Q3_K:    q3_KF32AVX2,
		Q4_K:    q4_KF32AVX2,
		Q5_K:    q5_KF32AVX2,
		Q6_K:    q6_KF32AVX2,
		IQ1_S:   iq1_SF32AVX2,
		IQ1_M:   iq1_MF32AVX2,
		IQ2_XXS: iq2_XXSF32AVX2,
		IQ2_XS:  iq2_XSF32AVX2,
		IQ2_S:   iq2_SF32AVX2,
		IQ3_XXS: iq3_XXSF32AVX2,
		IQ3_S:   iq3_SF32AVX2,
		IQ4_NL:  with(bookedF32AVX2, &iq4Book[0]),
		IQ4_XS:  iq4_XSF32AVX2,
		TQ1_0:   tq1_0F32AVX2,
		TQ2_0:   tq2_0F32AVX2,
		MXFP4:   mxfp4F32AVX2,
		NVFP4:   nvfp4F32AVX2,
		Q1_0:    q1_0F32AVX2,
		Q2_0:    q2_0F32AVX2,
	},
	BF16: {
		Q4_0:    q4_0BF16AVX2,
		Q4_1:    q4_1BF16AVX2,
		Q5_0:    q5_0BF16AVX2,
		Q8_0:    with(q8BF16AVX2, 34),
		Q8_1:    with(q8BF16AVX2, 36),
		Q2_K:    q2_KBF16AVX2,
		Q3_K:    q3_KBF16AVX2,
		Q6_K:    q6_KBF16AVX2,
		IQ1_S:   iq1_SBF16AVX2,
		IQ1_M:   iq1_MBF16AVX2,
		IQ2_XXS: iq2_XXSBF16AVX2,
		IQ2_XS:  iq2_XSBF16AVX2,
		IQ2_S:   iq2_SBF16AVX2,
		IQ3_XXS: iq3_XXSBF16AVX2,
		IQ3_S:   iq3_SBF16AVX2,
		IQ4_NL:  iq4_NLBF16AVX2,
		TQ1_0:   tq1_0BF16AVX2,
		TQ2_0:   tq2_0BF16AVX2,
		MXFP4:   mxfp4BF16AVX2,
		NVFP4:   nvfp4BF16AVX2,
		Q1_0:    q1_0BF16AVX2,
		Q2_0:    q2_0BF16AVX2,
	},
	F16: {
		Q4_0:    with(bookedF16AVX2, &minus8Book[0]),
		Q4_1:    q4_1F16AVX2,
		Q5_0:    q5_0F16AVX2,
		Q5_1:    q5_1F16AVX2,
		Q8_0:    with(q8F16AVX2, 34),
		Q8_1:    with(q8F16AVX2, 36),
		Q2_K:    q2_KF16AVX2,
		Q3_K:    q3_KF16AVX2,
		Q4_K:    q4_KF16AVX2,
		Q5_K:    q5_KF16AVX2,
		Q6_K:    q6_KF16AVX2,
		IQ1_S:   iq1_SF16AVX2,
		IQ1_M:   iq1_MF16AVX2,
		IQ2_XXS: iq2_XXSF16AVX2,
		IQ2_XS:  iq2_XSF16AVX2,
		IQ2_S:   iq2_SF16AVX2,
		IQ3_XXS: iq3_XXSF16AVX2,
		IQ3_S:   iq3_SF16AVX2,
		IQ4_NL:  with(bookedF16AVX2, &iq4Book[0]),
		IQ4_XS:  iq4_XSF16AVX2,
		TQ1_0:   tq1_0F16AVX2,
		TQ2_0:   tq2_0F16AVX2,
		MXFP4:   mxfp4F16AVX2,
		NVFP4:   nvfp4F16AVX2,
		Q1_0:    q1_0F16AVX2,
		Q2_0:    q2_0F16AVX2,
	},
}
