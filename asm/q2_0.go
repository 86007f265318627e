package asm

// A block is d and 64 2-bit codes, four a byte, lowest first: d*(q-1).
func decodeQ2_0(dst []float32, src []byte) {
	blocks(dst, src, 64, 18, func(y []float32, x []byte) {
		d := half(x)
		for i := range y {
			y[i] = d * float32(int(x[2+i/4]>>(i%4*2)&3)-1)
		}
	})
}
