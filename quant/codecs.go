package quant

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Codec decodes the blocks of one stored type to numbers. Its DType has the geometry and
// the name.
type Codec struct {
	Type tensor.DType
	// Blocks says that the type is ggml's blocks, which hold their own scales.
	Blocks bool

	codec form.Codec
}

// Decode fills dst from whole blocks: len(src) is a number of blocks, and dst has that
// many blocks of elements. The arithmetic is float32, each product rounded, as in the
// reference. It allocates nothing and is safe for concurrent use.
func (c Codec) Decode(dst []float32, src []byte) { c.codec.Decode(dst, src) }

// Write decodes whole blocks to the target's type with the kernels of this machine.
func (c Codec) Write(dst []byte, to Target, src []byte, tile []float32) {
	c.codec.Write(asm.Best(), dst, to.Kind(), src, tile)
}

// Encodes reports whether EncodeRow supports the type.
func (c Codec) Encodes() bool { return c.codec.EncodeRow != nil }

// NeedsMatrix reports whether ggml writes the type only with an importance matrix.
func (c Codec) NeedsMatrix() bool { return c.codec.NeedsMatrix }

// Tables is the size of the tables that encoding the type builds once and keeps.
func (c Codec) Tables() int64 { return c.codec.Tables }

// EncodeRow writes one row as blocks, with the bytes that ggml writes. matrix is the
// importance of the columns, or nil. The numbers must be finite.
func (c Codec) EncodeRow(dst []byte, src, matrix []float32) { c.codec.EncodeRow(dst, src, matrix) }

// Codecs lists every type that can be decoded by itself.
func Codecs() (all []Codec) {
	for _, c := range form.Codecs {
		all = append(all, Codec{c.Dtype, c.Blocks, c})
	}
	return all
}

// CodecOf returns the codec of a type.
func CodecOf(t tensor.DType) (Codec, bool) {
	c, ok := form.CodecOf(t)
	return Codec{c.Dtype, c.Blocks, c}, ok
}
