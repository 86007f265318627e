package asm

// A block is a float16 scale and minimum, the 32 high bits and 32 nibbles: d*q + m.
func decodeQ5_1(dst []float32, src []byte) {
	blocks(dst, src, 32, 24, func(y []float32, x []byte) {
		d, m, high := half(x), half(x[2:]), u32(x[4:])
		for i, c := range x[8:] {
			y[i] = float32(d*float32(uint32(c&15)|high>>i<<4&16)) + m
			y[i+16] = float32(d*float32(uint32(c>>4)|high>>(i+16)<<4&16)) + m
		}
	})
}
