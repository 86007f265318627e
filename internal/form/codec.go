package form

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Codec decodes the blocks of one stored type to numbers. The type's geometry and name
// are those of its DType.
type Codec struct {
	Dtype tensor.DType
	// Blocks says that the type is ggml's blocks, which hold their own scales.
	Blocks bool
	// Decode fills dst from whole blocks: len(src) is a number of blocks, and dst has
	// that many blocks of elements. The arithmetic is float32, each product rounded, as
	// in the reference. It allocates nothing and is safe for concurrent use.
	Decode func(dst []float32, src []byte)
	// EncodeRow writes one row as blocks. matrix is the importance of its columns, or
	// nil. EncodeRow is nil for types that are only decoded. See asm.Kind.EncodeRow.
	EncodeRow func(dst []byte, src, matrix []float32)
	// NeedsMatrix says that ggml encodes rows only with a matrix. Tables is the size of
	// the encoder's tables in bytes.
	NeedsMatrix bool
	Tables      int64
	// Kernel is nil if the type has no kernel.
	Kernel kernel
}

// A kernel decodes src and rounds the numbers to a type. room has four bytes for each
// number.
type kernel func(o *asm.Ops, to asm.Type, dst, src, room []byte)

// Write decodes whole blocks with the kernels of o.
func (c Codec) Write(o *asm.Ops, dst []byte, to asm.Type, src []byte, tile []float32) {
	tile = tile[:len(dst)/to.Size()]
	if c.Kernel != nil && o.Level() != asm.Generic {
		c.Kernel(o, to, dst, src, asm.Raw(tile))
		return
	}
	c.Decode(tile, src)
	o.Put(to, dst, tile)
}

// blockCodec returns the codec of one of ggml's block types.
func blockCodec(t tensor.DType, k asm.Kind) Codec {
	c := Codec{Dtype: t, Blocks: true, Decode: k.Decode, Kernel: func(o *asm.Ops, to asm.Type, dst, src, _ []byte) { o.Blocks(k, to, dst, src) }}
	if k.Encodes() {
		c.EncodeRow = func(dst []byte, src, matrix []float32) { asm.Best().EncodeRow(k, dst, src, matrix) }
		c.NeedsMatrix, c.Tables = k.NeedsMatrix(), k.Tables()
	}
	return c
}

// castCodec returns the codec of a type of plain numbers.
func castCodec(t tensor.DType, from asm.Type, decode func([]float32, []byte)) Codec {
	return Codec{Dtype: t, Decode: decode, Kernel: func(o *asm.Ops, to asm.Type, dst, src, _ []byte) { o.Cast(from, to, dst, src) }}
}

// plainCodec returns the codec of any other type.
func plainCodec(t tensor.DType, decode func([]float32, []byte), k kernel) Codec {
	return Codec{Dtype: t, Decode: decode, Kernel: k}
}

// float8Codec returns the codec of an 8-bit float.
func float8Codec(t tensor.DType, f asm.Float) Codec {
	return Codec{Dtype: t, Decode: f.Decode, Kernel: plainFloat8(f)}
}

// plainFloat8 returns a kernel for codes without a scale.
func plainFloat8(f asm.Float) kernel {
	return func(o *asm.Ops, to asm.Type, dst, src, _ []byte) {
		o.Float8(f, to, dst, src, unitScale[:], max(1, len(src)))
	}
}

// Codecs are the codecs of all types.
var Codecs = [...]Codec{
	castCodec(tensor.F32, asm.F32, decodeF32),
	castCodec(tensor.F16, asm.F16, decodeF16),
	castCodec(tensor.BF16, asm.BF16, decodeBF16),
	plainCodec(tensor.I8, decodeI8, writeI8),
	plainCodec(tensor.U8, decodeU8, writeU8),
	float8Codec(tensor.F8E4M3, asm.E4M3),
	float8Codec(tensor.F8E5M2, asm.E5M2),
	float8Codec(tensor.F8E4M3FNUZ, asm.E4M3FNUZ),
	float8Codec(tensor.F8E5M2FNUZ, asm.E5M2FNUZ),
	plainCodec(tensor.F8E8M0, decodeF8E8M0, writeF8E8M0),
	plainCodec(tensor.F6E2M3, decodeF6E2M3, writeSixBits(asm.E4M3, 0x1p6)),
	plainCodec(tensor.F6E3M2, decodeF6E3M2, writeSixBits(asm.E5M2, 0x1p12)),
	plainCodec(tensor.F4, decodeF4, writeF4),
	blockCodec(tensor.Q4_0, asm.Q4_0),
	blockCodec(tensor.Q4_1, asm.Q4_1),
	blockCodec(tensor.Q5_0, asm.Q5_0),
	blockCodec(tensor.Q5_1, asm.Q5_1),
	blockCodec(tensor.Q8_0, asm.Q8_0),
	blockCodec(tensor.Q8_1, asm.Q8_1),
	blockCodec(tensor.Q2_K, asm.Q2_K),
	blockCodec(tensor.Q3_K, asm.Q3_K),
	blockCodec(tensor.Q4_K, asm.Q4_K),
	blockCodec(tensor.Q5_K, asm.Q5_K),
	blockCodec(tensor.Q6_K, asm.Q6_K),
	blockCodec(tensor.Q8_K, asm.Q8_K),
	blockCodec(tensor.IQ1_S, asm.IQ1_S),
	blockCodec(tensor.IQ1_M, asm.IQ1_M),
	blockCodec(tensor.IQ2_XXS, asm.IQ2_XXS),
	blockCodec(tensor.IQ2_XS, asm.IQ2_XS),
	blockCodec(tensor.IQ2_S, asm.IQ2_S),
	blockCodec(tensor.IQ3_XXS, asm.IQ3_XXS),
	blockCodec(tensor.IQ3_S, asm.IQ3_S),
	blockCodec(tensor.IQ4_NL, asm.IQ4_NL),
	blockCodec(tensor.IQ4_XS, asm.IQ4_XS),
	blockCodec(tensor.TQ1_0, asm.TQ1_0),
	blockCodec(tensor.TQ2_0, asm.TQ2_0),
	blockCodec(tensor.MXFP4, asm.MXFP4),
	blockCodec(tensor.NVFP4, asm.NVFP4),
	blockCodec(tensor.Q1_0, asm.Q1_0),
	blockCodec(tensor.Q2_0, asm.Q2_0),
}

// codecByType has the codecs indexed by type.
var codecByType = func() (of [256]*Codec) {
	for i := range Codecs {
		of[Codecs[i].Dtype] = &Codecs[i]
	}
	return of
}()

// CodecOf returns the codec of a type.
func CodecOf(t tensor.DType) (Codec, bool) {
	if c := codecByType[t]; c != nil {
		return *c, true
	}
	return Codec{}, false
}

// groups calls decode for each group of n elements, which has size bytes.
func groups(dst []float32, src []byte, n, size int, decode func(y []float32, x []byte)) {
	for len(src) >= size {
		decode(dst[:n:n], src[:size:size])
		dst, src = dst[n:], src[size:]
	}
}

func u16(p []byte) uint16 { return binary.LittleEndian.Uint16(p) }
func U32(p []byte) uint32 { return binary.LittleEndian.Uint32(p) }

// U64 reads a number of eight bytes.
func U64(p []byte) uint64 { return binary.LittleEndian.Uint64(p) }

// half reads a float16.
func half(p []byte) float32 { return asm.HalfToFloat(u16(p)) }

// Float8Of returns the 8-bit float of a type.
func Float8Of(t tensor.DType) (asm.Float, bool) {
	switch t {
	case tensor.F8E4M3:
		return asm.E4M3, true
	case tensor.F8E5M2:
		return asm.E5M2, true
	case tensor.F8E4M3FNUZ:
		return asm.E4M3FNUZ, true
	case tensor.F8E5M2FNUZ:
		return asm.E5M2FNUZ, true
	}
	return 0, false
}
