package form

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Codec decodes the blocks of one stored type to numbers. How many elements
// take how many bytes, and what the type is called, its DType says.
type Codec struct {
	Dtype tensor.DType
	// Blocks says that the type is ggml's blocks, which hold their own scales.
	Blocks bool
	// Decode fills dst from whole blocks: len(src) is a number of blocks, and
	// dst has that many blocks of elements. The arithmetic is float32, each
	// product rounded by itself, as the reference does it. It allocates nothing
	// and is safe for concurrent use.
	Decode func(dst []float32, src []byte)
	// EncodeRow writes one row as blocks, with the importance of its columns or nil
	// for none; nil where blocks of this type are only decoded. See asm.Kind.EncodeRow.
	EncodeRow func(dst []byte, src, matrix []float32)
	// NeedsMatrix says that ggml encodes rows with a matrix alone, Tables the bytes
	// that the encoder's tables take.
	NeedsMatrix bool
	Tables      int64
	// Nil where none is made of the entries of a table.
	Kernel kernel
}

// A kernel does what decoding does, rounded to a type. The room has four bytes for
// each number.
type kernel func(o *asm.Ops, to asm.Type, dst, src, room []byte)

// Write decodes whole blocks by a table of kernels.
func (c Codec) Write(o *asm.Ops, dst []byte, to asm.Type, src []byte, tile []float32) {
	tile = tile[:len(dst)/to.Size()]
	if c.Kernel != nil && o.Level() != asm.Generic {
		c.Kernel(o, to, dst, src, asm.Raw(tile))
		return
	}
	c.Decode(tile, src)
	o.Put(to, dst, tile)
}

// blocks is the row of a type of blocks.
func blocks(t tensor.DType, k asm.Kind) Codec {
	c := Codec{Dtype: t, Blocks: true, Decode: k.Decode, Kernel: func(o *asm.Ops, to asm.Type, dst, src, _ []byte) { o.Blocks(k, to, dst, src) }}
	if k.Encodes() {
		c.EncodeRow = func(dst []byte, src, matrix []float32) { asm.Best().EncodeRow(k, dst, src, matrix) }
		c.NeedsMatrix, c.Tables = k.NeedsMatrix(), k.Tables()
	}
	return c
}

// casts is the row of a type of plain numbers.
func casts(t tensor.DType, from asm.Type, decode func([]float32, []byte)) Codec {
	return Codec{Dtype: t, Decode: decode, Kernel: func(o *asm.Ops, to asm.Type, dst, src, _ []byte) { o.Cast(from, to, dst, src) }}
}

// plain is the row of any other type.
func plain(t tensor.DType, decode func([]float32, []byte), k kernel) Codec {
	return Codec{Dtype: t, Decode: decode, Kernel: k}
}

// float8s is the row of a format of eight bits.
func float8s(t tensor.DType, f asm.Float) Codec {
	return Codec{Dtype: t, Decode: f.Decode, Kernel: plainFloat8(f)}
}

// plainFloat8 decodes codes that have no scale.
func plainFloat8(f asm.Float) kernel {
	return func(o *asm.Ops, to asm.Type, dst, src, _ []byte) {
		o.Float8(f, to, dst, src, unscaled[:], max(1, len(src)))
	}
}

// Codecs has one row per type.
var Codecs = [...]Codec{
	casts(tensor.F32, asm.F32, decodeF32),
	casts(tensor.F16, asm.F16, decodeF16),
	casts(tensor.BF16, asm.BF16, decodeBF16),
	plain(tensor.I8, decodeI8, writeI8),
	plain(tensor.U8, decodeU8, writeU8),
	float8s(tensor.F8E4M3, asm.E4M3),
	float8s(tensor.F8E5M2, asm.E5M2),
	float8s(tensor.F8E4M3FNUZ, asm.E4M3FNUZ),
	float8s(tensor.F8E5M2FNUZ, asm.E5M2FNUZ),
	plain(tensor.F8E8M0, decodeF8E8M0, writeF8E8M0),
	plain(tensor.F6E2M3, decodeF6E2M3, writeSixes(asm.E4M3, 0x1p6)),
	plain(tensor.F6E3M2, decodeF6E3M2, writeSixes(asm.E5M2, 0x1p12)),
	plain(tensor.F4, decodeF4, writeF4),
	blocks(tensor.Q4_0, asm.Q4_0),
	blocks(tensor.Q4_1, asm.Q4_1),
	blocks(tensor.Q5_0, asm.Q5_0),
	blocks(tensor.Q5_1, asm.Q5_1),
	blocks(tensor.Q8_0, asm.Q8_0),
	blocks(tensor.Q8_1, asm.Q8_1),
	blocks(tensor.Q2_K, asm.Q2_K),
	blocks(tensor.Q3_K, asm.Q3_K),
	blocks(tensor.Q4_K, asm.Q4_K),
	blocks(tensor.Q5_K, asm.Q5_K),
	blocks(tensor.Q6_K, asm.Q6_K),
	blocks(tensor.Q8_K, asm.Q8_K),
	blocks(tensor.IQ1_S, asm.IQ1_S),
	blocks(tensor.IQ1_M, asm.IQ1_M),
	blocks(tensor.IQ2_XXS, asm.IQ2_XXS),
	blocks(tensor.IQ2_XS, asm.IQ2_XS),
	blocks(tensor.IQ2_S, asm.IQ2_S),
	blocks(tensor.IQ3_XXS, asm.IQ3_XXS),
	blocks(tensor.IQ3_S, asm.IQ3_S),
	blocks(tensor.IQ4_NL, asm.IQ4_NL),
	blocks(tensor.IQ4_XS, asm.IQ4_XS),
	blocks(tensor.TQ1_0, asm.TQ1_0),
	blocks(tensor.TQ2_0, asm.TQ2_0),
	blocks(tensor.MXFP4, asm.MXFP4),
	blocks(tensor.NVFP4, asm.NVFP4),
	blocks(tensor.Q1_0, asm.Q1_0),
	blocks(tensor.Q2_0, asm.Q2_0),
}

// codecRows is the codecs by type.
var codecRows = func() (of [256]*Codec) {
	for i := range Codecs {
		of[Codecs[i].Dtype] = &Codecs[i]
	}
	return of
}()

// CodecOf finds the codec of a type.
func CodecOf(t tensor.DType) (Codec, bool) {
	if c := codecRows[t]; c != nil {
		return *c, true
	}
	return Codec{}, false
}

// groups calls decode for each group of n codes in size bytes.
func groups(dst []float32, src []byte, n, size int, decode func(y []float32, x []byte)) {
	for len(src) >= size {
		decode(dst[:n:n], src[:size:size])
		dst, src = dst[n:], src[size:]
	}
}

func u16(p []byte) uint16 { return binary.LittleEndian.Uint16(p) }
func U32(p []byte) uint32 { return binary.LittleEndian.Uint32(p) }

// half reads a float16.
func half(p []byte) float32 { return asm.HalfToFloat(u16(p)) }
