package asm

import "math"

// A block is a float32 scale, 256 signed bytes and 16 sums that decoding does
// not need: d*q.
func decodeQ8_K(dst []float32, src []byte) {
	blocks(dst, src, 256, 292, func(y []float32, x []byte) {
		scaleBytes(y, x[4:260], math.Float32frombits(u32(x)))
	})
}
