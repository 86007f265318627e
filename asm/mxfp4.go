package asm

import "math"

// fp4Doubled is E2M1 times two; code 8 is plus zero, as ggml has it.
var fp4Doubled = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// A block is an E8M0 scale and 32 E2M1 nibbles, the low ones first.
func decodeMXFP4(dst []float32, src []byte) {
	blocks(dst, src, 32, 17, func(y []float32, x []byte) {
		d := e8m0Half(x[0])
		for i, c := range x[1:] {
			y[i], y[i+16] = d*fp4Doubled[c&15], d*fp4Doubled[c>>4]
		}
	})
}

// e8m0Half returns 2^(c-128), half of the E8M0 value, for the doubled table. FF is not NaN
// here, as in ggml.
func e8m0Half(c uint8) float32 {
	if c < 2 {
		return math.Float32frombits(0x00200000 << c)
	}
	return math.Float32frombits(uint32(c-1) << 23)
}
