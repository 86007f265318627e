//go:build !purego

package asm

// arch overwrites what the levels of the set have: to BF16, the 8-bit types,
// codebooks of four bits, Q4_K and Q6_K.
func (o *Ops) arch(f Features) {
	if !f.has(neon) {
		return
	}
	o.level = neon
	o.blocks = allOf([3][Kinds]func(dst, src *byte, n int){BF16: {
		Q8_0: q8_0BF16NEON,
		Q4_0: with(codebookBF16NEON, &minus8Codebook[0]), IQ4_NL: with(codebookBF16NEON, &iq4Codebook[0]), MXFP4: mxfp4BF16NEON,
		Q4_K: q4_KBF16NEON, Q6_K: q6_KBF16NEON,
	}})
	o.float8[BF16] = [floats8]float8Kernel{E4M3: float8E4M3BF16NEON, E5M2: float8E5M2BF16NEON}
	o.bytes[BF16][Scale] = bytesScaleBF16NEON
	o.nibbles[BF16] = [2][opsN]codebookKernel{{Scale: codebookLowScaleBF16NEON}, {Scale: codebookHighScaleBF16NEON}}
}

// allOf wraps each kernel that exists, with takesAll.
func allOf(kernels [3][Kinds]func(dst, src *byte, n int)) (out [3][Kinds]blockKernel) {
	for to := range kernels {
		for k, kernel := range kernels[to] {
			if kernel != nil {
				out[to][k] = takesAll(kernel)
			}
		}
	}
	return out
}
