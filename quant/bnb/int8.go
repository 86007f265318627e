package bnb

import "github.com/anamnesis-go/anamnesis/asm"

// EncodeInt8 quantizes whole rows as LLM.int8() does: signed bytes, one scale
// per row, which is the row's absmax. The library itself rounds weights to
// float16 before; give it numbers so rounded, and the bytes are the same.
func EncodeInt8(codes []byte, scales, src []float32, cols int) error {
	if cols == 0 || len(src) == 0 {
		return nil
	}
	if err := absmax(scales[:len(src)/cols], src, cols); err != nil {
		return err
	}
	// The library multiplies by the reciprocal, which differs from a division.
	asm.Best().Int8(codes[:len(src)], src, scales, cols)
	return nil
}
