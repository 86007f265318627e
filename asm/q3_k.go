package asm

// A block is 256 high bits, 256 2-bit codes, sixteen 6-bit scales and d:
// d*(sc-32)*(q-4), the 4 left out where the high bit is set.
func decodeQ3_K(dst []float32, src []byte) {
	blocks(dst, src, 256, 110, func(y []float32, x []byte) {
		high, q, scales := x[:32], x[32:96], x[96:108]
		d := half(x[108:])
		for i := range 16 {
			sc := scales[i%8]>>(i/8*4)&15 | scales[8+i%4]>>(i/4*2)&3<<4
			dl := d * float32(int(sc)-32)
			codes, shift := twoBits(q, i)
			for j, c := range codes {
				bit := high[i%2*16+j] >> (i / 2) & 1
				y[16*i+j] = dl * float32(int(c>>shift&3)-4+int(bit)*4)
			}
		}
	})
}
