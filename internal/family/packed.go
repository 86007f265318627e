package family

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// Packed are rows of MXFP4 as OpenAI stores them: blocks of 16 bytes, two numbers in
// each, and a scale for each block.
type Packed struct {
	Blocks, Scales tensor.Info
	Step, First    int64 // every Step-th row, from First on
}

// Unpacked are rows of MXFP4 as OpenAI stores them, the bytes of codes or the scales, of
// tensors of GGUF that give a row each in their turn.
type Unpacked struct {
	Of     []tensor.Info
	Scales bool
}
