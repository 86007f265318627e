package asm

// A block is a float16 scale and minimum and 32 nibbles: d*q + m.
func decodeQ4_1(dst []float32, src []byte) {
	blocks(dst, src, 32, 20, func(y []float32, x []byte) {
		d, m := half(x), half(x[2:])
		for i, c := range x[4:] {
			y[i] = float32(d*float32(c&15)) + m
			y[i+16] = float32(d*float32(c>>4)) + m
		}
	})
}
