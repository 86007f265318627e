package asm

// iq4Values is the non-linear codebook of the IQ4 types.
var iq4Values = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// A block is d and 32 nibbles into the codebook, the low ones first.
func decodeIQ4_NL(dst []float32, src []byte) {
	blocks(dst, src, 32, 18, func(y []float32, x []byte) { iq4(y, x[2:], half(x)) })
}

func iq4(y []float32, q []byte, d float32) {
	for i, c := range q {
		y[i], y[i+16] = d*iq4Values[c&15], d*iq4Values[c>>4]
	}
}
