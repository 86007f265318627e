package mxfp4

import (
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Block is the size of a block of 32 numbers in ggml's MXFP4: a scale, and Codes bytes.
const (
	Block = Codes + 1
	Codes = 16
)

// Parts returns the blocks and scales of a weight of OpenAI: [E, rows, cols/32, 16] and
// [E, rows, cols/32].
func Parts(w *scheme.Weight) (blocks, scales tensor.Info, ok bool) {
	if w == nil || len(w.Parts) != 2 {
		return blocks, scales, false
	}
	blocks, scales = w.Parts[0], w.Parts[1]
	if len(blocks.Shape) != 4 {
		blocks, scales = scales, blocks
	}
	ok = len(blocks.Shape) == 4 && len(scales.Shape) == 3 && blocks.Shape[3] == Codes &&
		blocks.DType == tensor.U8 && scales.DType == tensor.U8 && blocks.Strides == nil && scales.Strides == nil &&
		blocks.Bytes() == Codes*scales.Bytes()
	return blocks, scales, ok
}

// ToGGML converts a block to ggml's form. OpenAI puts neighbors in a byte, the first in
// the low half; ggml puts the first half of the block in the low halves.
func ToGGML(codes []byte, scale byte) (out [Block]byte) {
	out[0] = scale
	for j := range Codes / 2 {
		a, b := codes[j], codes[j+Codes/2]
		out[1+2*j] = a&15 | b<<4
		out[2+2*j] = a>>4 | b&0xF0
	}
	return out
}

// FromGGML is the inverse of [ToGGML] for the codes of a block.
func FromGGML(block []byte) (codes [Codes]byte) {
	for j := range Codes / 2 {
		x, y := block[1+2*j], block[2+2*j]
		codes[j], codes[j+Codes/2] = x&15|y<<4, x>>4|y&0xF0
	}
	return codes
}
