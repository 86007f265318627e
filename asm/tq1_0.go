package asm

// A block is 48 bytes of five base-3 digits, 4 bytes of four, and d: d*(digit-1).
// A byte is the digits' fraction of 3^5 in 256ths, so the top digit is what
// passes 256 when it is tripled.
func decodeTQ1_0(dst []float32, src []byte) {
	blocks(dst, src, 256, 54, func(y []float32, x []byte) {
		d := half(x[52:])
		y = trits(y, x[:32], 5, d)
		y = trits(y, x[32:48], 5, d)
		trits(y, x[48:52], 4, d)
	})
}

func trits(y []float32, q []byte, digits int, d float32) (rest []float32) {
	shifted := uint8(1)
	for range digits {
		for j, c := range q {
			y[j] = d * float32(int(uint16(c*shifted)*3>>8)-1)
		}
		y = y[len(q):]
		shifted *= 3
	}
	return y
}
