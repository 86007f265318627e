//go:build amd64 && !purego

package asm

// avx512 overwrites what has a kernel of 64-byte registers; the rest is the
// level's below.
func (o *Ops) avx512() {
	o.level = avx512
	o.exact = o.blocks
	o.runsAVX512()
	o.columnsAVX512()
	o.avx512Kernels()
}

// columnsAVX512 leaves scales that come as float64, which are decoded to F32, to the
// level below.
func (o *Ops) columnsAVX512() {
	for i, kernel := range [2]columnsKernel{columnsF32AVX512, byteColumnsF32AVX512} {
		below := o.columns[i][F32]
		o.columns[i][F32] = func(dst, src *byte, offsets *uint32, scales, zeros *float32, dstStride, srcStride int, doubles bool, n int) {
			if doubles {
				below(dst, src, offsets, scales, zeros, dstStride, srcStride, doubles, n)
			} else {
				kernel(dst, src, offsets, scales, zeros, dstStride, srcStride, doubles, n)
			}
		}
	}
	o.columns[0][BF16], o.columns[0][F16] = columnsBF16AVX512, columnsF16AVX512
	o.columns[1][BF16], o.columns[1][F16] = byteColumnsBF16AVX512, byteColumnsF16AVX512
}

// told is a kernel of blocks that is given something else too.
func told[C any](kernel func(dst, src *byte, c C, n int) (left int), c C) blockKernel {
	return func(dst, src *byte, n int) int { return kernel(dst, src, c, n) }
}
