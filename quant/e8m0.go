package quant

import "math"

func decodeF8E8M0(dst []float32, src []byte) {
	for i, c := range src {
		dst[i] = e8m0(c)
	}
}

// e8m0 is a bare exponent, 2^(c-127): OCP microscaling 1.0. The code FF is NaN.
func e8m0(c uint8) float32 {
	switch c {
	case 0:
		return 0x1p-127
	case 0xFF:
		return float32(math.NaN())
	default:
		return math.Float32frombits(uint32(c) << 23)
	}
}
