package asm

// A block is a float16 scale and 32 signed bytes: d*q.
func decodeQ8_0(dst []float32, src []byte) {
	blocks(dst, src, 32, 34, func(y []float32, x []byte) { scaleBytes(y, x[2:], half(x)) })
}

func scaleBytes(y []float32, q []byte, d float32) {
	for i, c := range q {
		y[i] = d * float32(int8(c))
	}
}
