package family

import (
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Packed are rows of MXFP4 as OpenAI stores them: blocks of 16 bytes with two values in
// each byte, and a scale for each block.
type Packed struct {
	Blocks, Scales tensor.Info
	Step, First    int64 // every Step-th row, from First on
}

// Unpacked is the inverse of Packed: the codes or the scales of GGUF tensors, whose rows
// alternate.
type Unpacked struct {
	Of     []tensor.Info
	Scales bool
}
