//go:build amd64 && !purego

package asm

// runsAVX512 is what has a kernel of 64-byte registers but blocks: codes of eight bits to
// BF16, casts to the types of two bytes, encoders. All else of runs, and what only moves
// bytes, waits for memory, not for registers.
func (o *Ops) runsAVX512() {
	for f := range Float(float8Kinds) {
		o.float8[BF16][f] = normalFloat8(f, o.float8[BF16][f])
	}
	o.absmax, o.nearest, o.int8 = absmaxAVX512, nearestAVX512, int8AVX512
	for to, kernels := range [...][3]func(dst, src *byte, n int){
		BF16: {castF32ToBF16AVX512, with(castSameAVX512, &[2]uint16{0x7F80, 0x7FC0}), castF16ToBF16AVX512},
		F16:  {castF32ToF16AVX512, castBF16ToF16AVX512, with(castSameAVX512, &[2]uint16{0x7C00, 0x7E00})},
	} {
		for from, kernel := range kernels {
			if kernel != nil {
				o.cast[from][to] = kernel
			}
		}
	}
}
