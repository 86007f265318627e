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

// Encodes reports whether ggml's encoder writes the type.
func (c Codec) Encodes() bool { return c.codec.EncodeRow != nil }

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
