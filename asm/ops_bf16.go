//go:build amd64 && !purego

package asm

// avx512BF16 overwrites what is at least 1.2 times as fast by the instruction that
// rounds to BF16. It takes subnormal numbers for zero: kernels have it only where
// none can come up.
func (o *Ops) avx512BF16() {
	o.level = AVX512BF16
	for k, kernel := range blocksBF16 {
		if kernel != nil {
			o.blocks[BF16][k] = kernel
		}
	}
	o.bytes[BF16] = longBytes(bytesScaleBF16AVX512BF16, bytesShiftBF16AVX512BF16, bytesAffineBF16AVX512BF16, bytesTwiceBF16AVX512)
	o.cast[F16][BF16] = castF16ToBF16AVX512BF16
}

var blocksBF16 = [Kinds]blockKernel{
	Q5_0: q5_0BF16AVX512BF16,
	Q5_1: q5_1BF16AVX512BF16,
	Q8_0: told(q8BF16AVX512BF16, 34),
	Q8_1: told(q8BF16AVX512BF16, 36),
	Q5_K: q5_KBF16AVX512BF16,
	Q6_K: q6_KBF16AVX512BF16,
}
