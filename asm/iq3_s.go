package asm

// A block is d, 64 low bytes of grid indices, eight bytes of their high bits,
// 32 sign bytes, and eight 4-bit scales.
func decodeIQ3_S(dst []float32, src []byte) {
	blocks(dst, src, 256, 110, func(y []float32, x []byte) {
		d, low, high, signs, scales := half(x), x[2:66], x[66:74], x[74:106], x[106:110]
		for i := range 64 {
			index := uint16(low[i]) | uint16(high[i/8]>>(i%8)&1)<<8
			db := d * float32(1+2*int(scales[i/16]>>(i/8%2*4)&15))
			grid4(y[4*i:], iq3sGrid[index], signs[i/2]>>(i%2*4), db)
		}
	})
}
