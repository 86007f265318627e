package asm

// A block is 32 low bytes of grid indices, 16 bytes of their high bits with the
// shifts' signs, and four words of four 3-bit scales each, whose top nibbles
// are the float16 d.
func decodeIQ1_M(dst []float32, src []byte) {
	blocks(dst, src, 256, 56, func(y []float32, x []byte) {
		low, high, scales := x[:32], x[32:48], x[48:56]
		var bits uint16
		for i := range 4 {
			bits |= u16(scales[2*i:]) >> 12 << (4 * i)
		}
		d := HalfToFloat(bits)
		for i := range 32 { // runs of 8; two share a scale
			sc := u16(scales[i/8*2:]) >> (i / 2 % 4 * 3) & 7
			h := high[i/2] >> (i % 2 * 4)
			index := uint16(low[i]) | uint16(h&7)<<8
			iq1(y[8*i:], iq1Grid[index], d*float32(2*sc+1), h&8 != 0)
		}
	})
}
