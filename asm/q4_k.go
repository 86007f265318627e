package asm

// A block is d and dmin, eight 6-bit pairs of scale and minimum in 12 bytes and
// 256 nibbles: (d*sc)*q - dmin*m per 32 elements. Each 32 bytes hold a run of
// low nibbles, then one of high nibbles.
func decodeQ4_K(dst []float32, src []byte) {
	blocks(dst, src, 256, 144, func(y []float32, x []byte) {
		d, dmin := half(x), half(x[2:])
		for i := range 8 {
			sc, m := sixBitPair(x[4:16], i)
			dl, ml := d*float32(sc), dmin*float32(m)
			for j, c := range x[16+i/2*32:][:32] {
				y[32*i+j] = float32(dl*float32(c>>(i%2*4)&15)) - ml
			}
		}
	})
}

// sixBitPair unpacks scale and minimum i of the eight in 12 bytes: the first four are in
// bytes 0-7; of the others, the low nibbles are in bytes 8-11 and the high bits on top of
// the first eight bytes.
func sixBitPair(p []byte, i int) (scale, minimum uint8) {
	if i < 4 {
		return p[i] & 63, p[i+4] & 63
	}
	return p[i+4]&15 | p[i-4]>>6<<4, p[i+4]>>4 | p[i]>>6<<4
}
