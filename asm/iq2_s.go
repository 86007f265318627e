package asm

// A block is d, 32 low bytes of grid indices, 32 sign bytes, eight bytes of
// their high bits, and sixteen 4-bit scales.
func decodeIQ2_S(dst []float32, src []byte) {
	blocks(dst, src, 256, 82, func(y []float32, x []byte) {
		d, low, signs, high, scales := half(x), x[2:34], x[34:66], x[66:74], x[74:82]
		for i := range 32 {
			index := uint16(low[i]) | uint16(high[i/4]>>(i%4*2)&3)<<8
			db := d * (0.5 + float32(scales[i/4]>>(i/2%2*4)&15)) * 0.25
			grid8(y[8*i:], iq2sGrid[index], signs[i], db)
		}
	})
}
