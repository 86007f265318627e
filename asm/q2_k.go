package asm

// A block is 16 pairs of 4-bit scale and minimum, 256 2-bit codes, d and dmin:
// (d*sc)*q - dmin*m per 16 elements. Each 32 bytes of codes hold four runs of
// 32 elements, two bits each.
func decodeQ2_K(dst []float32, src []byte) {
	blocks(dst, src, 256, 84, func(y []float32, x []byte) {
		scales, q := x[:16], x[16:80]
		d, dmin := half(x[80:]), half(x[82:])
		for i := range 16 {
			dl, ml := d*float32(scales[i]&15), dmin*float32(scales[i]>>4)
			codes, shift := twoBits(q, i)
			for j, c := range codes {
				y[16*i+j] = float32(dl*float32(c>>shift&3)) - ml
			}
		}
	})
}

// twoBits returns the bytes and the shift of the i-th run of 16 two-bit codes, in the
// layout of the K types.
func twoBits(q []byte, i int) (codes []byte, shift int) {
	at := i/8*32 + i%2*16
	return q[at : at+16], i % 8 / 2 * 2
}
