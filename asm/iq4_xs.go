package asm

// A block is d, eight 6-bit scales (high bits in two bytes, low nibbles in
// four) and 256 nibbles: d*(sc-32)*value per 32 elements.
func decodeIQ4_XS(dst []float32, src []byte) {
	blocks(dst, src, 256, 136, func(y []float32, x []byte) {
		d, high, low := half(x), u16(x[2:]), x[4:8]
		for i := range 8 {
			sc := int(low[i/2]>>(i%2*4)&15) | int(high>>(2*i)&3)<<4
			iq4(y[32*i:], x[8+16*i:][:16], d*float32(sc-32))
		}
	})
}
