package quant

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Codec decodes the blocks of one stored type to numbers. How many elements
// take how many bytes, and what the type is called, its DType says.
type Codec struct {
	Type tensor.DType
	// Blocks says that the type is ggml's blocks, which hold their own scales.
	Blocks bool

	codec form.Codec
}

// Decode fills dst from whole blocks: len(src) is a number of blocks, and dst has
// that many blocks of elements. The arithmetic is float32, each product rounded
// by itself, as the reference does it. It allocates nothing and is safe for
// concurrent use.
func (c Codec) Decode(dst []float32, src []byte) { c.codec.Decode(dst, src) }

// Write decodes whole blocks to the target's type by the kernels of this
// machine.
func (c Codec) Write(dst []byte, to Target, src []byte, tile []float32) {
	c.codec.Write(asm.Best(), dst, targets[to].kind, src, tile)
}

// Encodes reports whether rows can be written as blocks of the type.
func (c Codec) Encodes() bool { return c.codec.EncodeRow != nil }

// NeedsMatrix reports that ggml writes rows of the type with the importance of their
// columns alone.
func (c Codec) NeedsMatrix() bool { return c.codec.NeedsMatrix }

// Tables is the bytes of the tables that encoding the type builds once, and keeps.
func (c Codec) Tables() int64 { return c.codec.Tables }

// EncodeRow writes one row as blocks, with the importance of its columns or nil for
// none: the bytes that ggml writes. The numbers are finite.
func (c Codec) EncodeRow(dst []byte, src, matrix []float32) { c.codec.EncodeRow(dst, src, matrix) }

// Codecs lists every type that can be decoded by itself.
func Codecs() (all []Codec) {
	for _, c := range form.Codecs {
		all = append(all, Codec{c.Dtype, c.Blocks, c})
	}
	return all
}

// CodecOf finds the codec of a type.
func CodecOf(t tensor.DType) (Codec, bool) {
	c, ok := form.CodecOf(t)
	return Codec{c.Dtype, c.Blocks, c}, ok
}
