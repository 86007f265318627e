package asm

// A block is 256 low nibbles, 256 2-bit high parts, 16 signed scales and d:
// (d*sc)*(q-32) per 16 elements.
func decodeQ6_K(dst []float32, src []byte) {
	blocks(dst, src, 256, 210, func(y []float32, x []byte) {
		low, high, scales := x[:128], x[128:192], x[192:208]
		d := half(x[208:])
		for i := range 8 { // runs of 32
			lo, hi := low[i/4*64+i%2*32:], high[i/4*32:]
			for j := range 32 {
				q := lo[j]>>(i%4/2*4)&15 | hi[j]>>(i%4*2)&3<<4
				dl := d * float32(int8(scales[2*i+j/16]))
				y[32*i+j] = dl * float32(int(q)-32)
			}
		}
	})
}
