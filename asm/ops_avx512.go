//go:build amd64 && !purego

package asm

// avx512 sets the entries with kernels of 64-byte registers: blocks, casts to two-byte
// types, encoders. Others stay those of the level below, also those that only move bytes.
func (o *Ops) avx512() {
	o.level = avx512
	o.exact = o.blocks
	o.exact[F16][Q2_K], o.exact[BF16][Q2_K] = nil, nil // they go quicker by way of float32
	o.avx512Kernels()
	s := &o.search
	s.weigh[bySquare], s.weigh[byMagnitude], s.weigh[byNearness] = squaresAVX512, magnitudesAVX512, nearAVX512
	s.affine = [2]laneKernel{affineAVX512, affineAbsoluteAVX512}
	s.symmetric, s.moves, s.times = symmetricAVX512, movesAVX512, chooseTimesAVX512
	s.codebook, s.codes = codebookSearchAVX512, codebookCodesAVX512
	o.rows[Q8_0], o.rows[Q4_0] = encodeQ8_0AVX512, encodeQ4_0AVX512
}

// told wraps a kernel of blocks that takes another argument.
func told[C any](kernel func(dst, src *byte, c C, n int) (left int), c C) blockKernel {
	return func(dst, src *byte, n int) int { return kernel(dst, src, c, n) }
}
