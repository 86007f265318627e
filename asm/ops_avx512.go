//go:build amd64 && !purego

package asm

// avx512 overwrites what has a kernel of 64-byte registers: blocks, casts to the types of
// two bytes, encoders. The rest is the level's below, also what only moves bytes.
func (o *Ops) avx512() {
	o.level = avx512
	o.exact = o.blocks
	o.exact[F16][Q2_K], o.exact[BF16][Q2_K] = nil, nil // they go quicker by way of float32
	o.avx512Kernels()
}

// told is a kernel of blocks that is given something else too.
func told[C any](kernel func(dst, src *byte, c C, n int) (left int), c C) blockKernel {
	return func(dst, src *byte, n int) int { return kernel(dst, src, c, n) }
}
