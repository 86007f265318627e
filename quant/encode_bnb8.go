package quant

import "math"

// EncodeBnb8 quantizes whole rows as LLM.int8() does: signed bytes, one scale
// per row, which is the row's absmax. The library itself rounds weights to
// float16 before; give it numbers so rounded, and the bytes are the same.
func EncodeBnb8(codes []byte, scales, src []float32, cols int) error {
	if err := allFinite(src); err != nil || cols == 0 {
		return err
	}
	for r := 0; len(src) > 0; r++ {
		scales[r] = absmax(src[:cols])
		// The library multiplies by the reciprocal: not what a division gives.
		inverse := float32(1/scales[r]) * 127
		for i, x := range src[:cols] {
			codes[i] = byte(roundToInt8(x * inverse))
		}
		codes, src = codes[cols:], src[cols:]
	}
	return nil
}

// roundToInt8 rounds half to even. What is not finite, because the row's absmax
// has no reciprocal, becomes zero.
func roundToInt8(x float32) int8 {
	if math.Float32bits(x)&0x7F800000 == 0x7F800000 {
		return 0
	}
	return int8(math.RoundToEven(float64(x)))
}
