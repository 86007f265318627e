//go:build amd64 && !purego

package asm

// avx512BF16 overwrites what is at least 1.2 times as fast by the instruction that
// rounds to BF16. It takes subnormal numbers for zero: kernels have it only where
// none can come up.
func (o *Ops) avx512BF16() {
	o.level = avx512BF16
	o.avx512bf16Kernels()
	o.cast[F16][BF16] = castF16ToBF16AVX512BF16
}
