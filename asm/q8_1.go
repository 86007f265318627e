package asm

// A block is a float16 scale, a float16 sum that decoding does not need, and 32
// signed bytes: d*q.
func decodeQ8_1(dst []float32, src []byte) {
	blocks(dst, src, 32, 36, func(y []float32, x []byte) { scaleBytes(y, x[4:], half(x)) })
}
