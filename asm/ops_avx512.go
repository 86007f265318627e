//go:build amd64 && !purego

package asm

// avx512 overwrites what has a kernel of 64-byte registers; the rest is the
// level's below.
func (o *Ops) avx512() {
	o.level = AVX512
	o.runsAVX512()
	for to := range o.blocks {
		for k, kernel := range blocksAVX512[to] {
			if kernel != nil {
				o.blocks[to][k] = kernel
			}
		}
	}
}

// One row per kind, for each type.
var blocksAVX512 = [3][Kinds]func(dst, src *byte, n int){
	F32: {
		Q8_0: q8_0F32AVX512,
		Q8_1: q8_1F32AVX512,
		Q8_K: q8_KF32AVX512,
	},
	BF16: {
		Q8_0: q8_0BF16AVX512,
		Q8_1: q8_1BF16AVX512,
		Q8_K: q8_KBF16AVX512,
	},
	F16: {
		Q8_0: q8_0F16AVX512,
		Q8_1: q8_1F16AVX512,
		Q8_K: q8_KF16AVX512,
	},
}
