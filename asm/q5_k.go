package asm

// A block is as Q4_K's with 256 high bits between the scales and the nibbles.
func decodeQ5_K(dst []float32, src []byte) {
	blocks(dst, src, 256, 176, func(y []float32, x []byte) {
		d, dmin, high := half(x), half(x[2:]), x[16:48]
		for i := range 8 {
			sc, m := sixBitPair(x[4:16], i)
			dl, ml := d*float32(sc), dmin*float32(m)
			for j, c := range x[48+i/2*32:][:32] {
				q := c>>(i%2*4)&15 | high[j]>>i&1<<4
				y[32*i+j] = float32(dl*float32(q)) - ml
			}
		}
	})
}
