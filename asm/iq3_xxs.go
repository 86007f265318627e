package asm

// A block is d, 64 grid indices of four elements, and eight words of four 7-bit
// sign sets under a 4-bit scale.
func decodeIQ3_XXS(dst []float32, src []byte) {
	blocks(dst, src, 256, 98, func(y []float32, x []byte) {
		d, index := half(x), x[2:66]
		for i := range 8 {
			word := u32(x[66+4*i:])
			db := d * (0.5 + float32(word>>28)) * 0.5
			for l := range 4 {
				signs := evenSigns(word >> (7 * l))
				at := 32*i + 8*l
				grid4(y[at:], iq3xxsGrid[index[8*i+2*l]], signs, db)
				grid4(y[at+4:], iq3xxsGrid[index[8*i+2*l+1]], signs>>4, db)
			}
		}
	})
}
