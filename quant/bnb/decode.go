package bnb

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
)

// Decode returns the numbers of whole blocks from their codes and scales.
func (q Quantizer) Decode(dst []float32, codes []byte, scales []float32) {
	codebook := q.Codebook()
	if q.FP4 {
		codebook[8] = form.NegativeZero
	}
	for i := range dst {
		c := codes[i/2]
		if i%2 == 0 {
			c >>= 4
		}
		dst[i] = codebook[c&15] * scales[i/q.Block]
	}
}

// DecodeNested returns the scales of whole blocks from nested scales.
func DecodeNested(dst []float32, codes []byte, nested []float32, mean float32) {
	for i := range dst {
		dst[i] = float32(nestedCodebook[codes[i]]*nested[i/NestedBlock]) + mean
	}
}

// DecodeInt8 returns the numbers of whole rows.
func DecodeInt8(dst []float32, codes []byte, scales []float32, cols int) {
	for i := range dst {
		dst[i] = float32(float32(int8(codes[i]))*scales[i/cols]) * form.Per127
	}
}
