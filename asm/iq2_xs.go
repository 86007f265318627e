package asm

// A block is d, 32 words of 9-bit grid index and 7-bit signs, and sixteen 4-bit
// scales.
func decodeIQ2_XS(dst []float32, src []byte) {
	blocks(dst, src, 256, 74, func(y []float32, x []byte) {
		d, scales := half(x), x[66:74]
		for i := range 32 {
			w := u16(x[2+2*i:])
			db := d * (0.5 + float32(scales[i/4]>>(i/2%2*4)&15)) * 0.25
			grid8(y[8*i:], iq2xsGrid[w&511], evenSigns(uint32(w>>9)), db)
		}
	})
}
