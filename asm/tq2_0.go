package asm

// A block is 256 2-bit codes and d: d*(q-1).
func decodeTQ2_0(dst []float32, src []byte) {
	blocks(dst, src, 256, 66, func(y []float32, x []byte) {
		d := half(x[64:])
		for i := range 16 {
			codes, shift := twoBits(x[:64], i)
			for j, c := range codes {
				y[16*i+j] = d * float32(int(c>>shift&3)-1)
			}
		}
	})
}
