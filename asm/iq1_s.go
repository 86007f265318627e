package asm

// iq1Delta is what every grid value of the IQ1 types is shifted by.
const iq1Delta = 0.125

// A block is d, 32 low bytes of grid indices, and eight words of their high
// bits, a 3-bit scale and the sign of the shift.
func decodeIQ1_S(dst []float32, src []byte) {
	blocks(dst, src, 256, 50, func(y []float32, x []byte) {
		d := half(x)
		for i := range 8 {
			word := u16(x[34+2*i:])
			dl := d * float32(2*(word>>12&7)+1)
			for l := range 4 {
				index := uint16(x[2+4*i+l]) | word>>(3*l)&7<<8
				iq1(y[32*i+8*l:], iq1Grid[index], dl, word&0x8000 != 0)
			}
		}
	})
}

// iq1 writes the eight signed bytes of a grid row, shifted and scaled.
func iq1(y []float32, row uint64, d float32, down bool) {
	delta := float32(iq1Delta)
	if down {
		delta = -iq1Delta
	}
	for j := range 8 {
		y[j] = d * (float32(int8(row>>(8*j))) + delta)
	}
}
