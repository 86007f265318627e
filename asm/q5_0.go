package asm

// A block is a float16 scale, the 32 high bits and 32 nibbles: d*(q-16).
func decodeQ5_0(dst []float32, src []byte) {
	blocks(dst, src, 32, 22, func(y []float32, x []byte) {
		d, high := half(x), u32(x[2:])
		for i, c := range x[6:] {
			y[i] = d * float32(int(uint32(c&15)|high>>i<<4&16)-16)
			y[i+16] = d * float32(int(uint32(c>>4)|high>>(i+16)<<4&16)-16)
		}
	})
}
