package asm

// A block is a float16 scale and 32 nibbles, the low ones first: d*(q-8).
func decodeQ4_0(dst []float32, src []byte) {
	blocks(dst, src, 32, 18, func(y []float32, x []byte) {
		d := half(x)
		for i, c := range x[2:] {
			y[i] = d * float32(int(c&15)-8)
			y[i+16] = d * float32(int(c>>4)-8)
		}
	})
}
