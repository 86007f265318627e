package asm

// A block is four unsigned E4M3 scales and 64 E2M1 nibbles: each scale serves
// 16 elements in 8 bytes, the low nibbles first.
func decodeNVFP4(dst []float32, src []byte) {
	blocks(dst, src, 64, 36, func(y []float32, x []byte) {
		for s := range 4 {
			d := ue4m3Half(x[s])
			for i, c := range x[4+8*s:][:8] {
				y[16*s+i], y[16*s+i+8] = d*fp4Doubled[c&15], d*fp4Doubled[c>>4]
			}
		}
	})
}

// ue4m3Half returns half of an unsigned E4M3; the NaN code is zero, as in ggml.
func ue4m3Half(c uint8) float32 {
	if c == 0x7F {
		return 0
	}
	exp, man := c>>3&15, float32(c&7)
	if exp == 0 {
		return man * 0x1p-10
	}
	return (8 + man) * float32(uint32(1)<<exp) * 0x1p-11
}
