package asm

import "math/bits"

// A block is d and eight pairs of words, each pair 32 elements: four grid
// indices, then four 7-bit sign sets under a 4-bit scale.
func decodeIQ2_XXS(dst []float32, src []byte) {
	blocks(dst, src, 256, 66, func(y []float32, x []byte) {
		d := half(x)
		for i := range 8 {
			pair := x[2+8*i:]
			signs := u32(pair[4:])
			db := d * (0.5 + float32(signs>>28)) * 0.25
			for l := range 4 {
				grid8(y[32*i+8*l:], iq2xxsGrid[pair[l]], evenSigns(signs>>(7*l)), db)
			}
		}
	})
}

// evenSigns widens seven signs to eight: the last makes their number even.
func evenSigns(v uint32) uint8 {
	s := uint8(v & 127)
	return s | uint8(bits.OnesCount8(s)&1)<<7
}

// grid8 writes the eight bytes of a grid row, scaled, with signs.
func grid8(y []float32, row uint64, signs uint8, d float32) {
	for j := range 8 {
		v := d * float32(uint8(row>>(8*j)))
		if signs>>j&1 == 1 {
			v = -v
		}
		y[j] = v
	}
}

// grid4 writes the four bytes of a grid row, scaled, with signs.
func grid4(y []float32, row uint32, signs uint8, d float32) {
	for j := range 4 {
		v := d * float32(uint8(row>>(8*j)))
		if signs>>j&1 == 1 {
			v = -v
		}
		y[j] = v
	}
}
