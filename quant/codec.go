package quant

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Codec turns the blocks of one stored type into numbers.
type Codec struct {
	Type tensor.DType
	// Decode fills dst from whole blocks: len(src) is a number of blocks, and
	// dst has that many blocks of elements. The arithmetic is float32, each
	// product rounded by itself, as the reference does it. It allocates nothing
	// and is safe for concurrent use.
	Decode func(dst []float32, src []byte)
}

// One row per type; the functions stand in files of the types' names.
var codecs = [...]Codec{
	{tensor.F32, decodeF32},
	{tensor.F16, decodeF16},
	{tensor.BF16, decodeBF16},
	{tensor.I8, decodeI8},
	{tensor.U8, decodeU8},
	{tensor.F8E4M3, decodeF8E4M3},
	{tensor.F8E5M2, decodeF8E5M2},
	{tensor.F8E4M3FNUZ, decodeF8E4M3FNUZ},
	{tensor.F8E5M2FNUZ, decodeF8E5M2FNUZ},
	{tensor.F8E8M0, decodeF8E8M0},
	{tensor.F6E2M3, decodeF6E2M3},
	{tensor.F6E3M2, decodeF6E3M2},
	{tensor.F4, decodeF4},
	{tensor.Q4_0, decodeQ4_0},
	{tensor.Q4_1, decodeQ4_1},
	{tensor.Q5_0, decodeQ5_0},
	{tensor.Q5_1, decodeQ5_1},
	{tensor.Q8_0, decodeQ8_0},
	{tensor.Q8_1, decodeQ8_1},
	{tensor.Q2_K, decodeQ2_K},
	{tensor.Q3_K, decodeQ3_K},
	{tensor.Q4_K, decodeQ4_K},
	{tensor.Q5_K, decodeQ5_K},
	{tensor.Q6_K, decodeQ6_K},
	{tensor.Q8_K, decodeQ8_K},
	{tensor.IQ1_S, decodeIQ1_S},
	{tensor.IQ1_M, decodeIQ1_M},
	{tensor.IQ2_XXS, decodeIQ2_XXS},
	{tensor.IQ2_XS, decodeIQ2_XS},
	{tensor.IQ2_S, decodeIQ2_S},
	{tensor.IQ3_XXS, decodeIQ3_XXS},
	{tensor.IQ3_S, decodeIQ3_S},
	{tensor.IQ4_NL, decodeIQ4_NL},
	{tensor.IQ4_XS, decodeIQ4_XS},
	{tensor.TQ1_0, decodeTQ1_0},
	{tensor.TQ2_0, decodeTQ2_0},
	{tensor.MXFP4, decodeMXFP4},
	{tensor.NVFP4, decodeNVFP4},
	{tensor.Q1_0, decodeQ1_0},
	{tensor.Q2_0, decodeQ2_0},
}

// Codecs lists every type that can be decoded by itself.
func Codecs() []Codec { return append([]Codec(nil), codecs[:]...) }

// CodecOf finds the codec of a type.
func CodecOf(t tensor.DType) (Codec, bool) {
	for _, c := range codecs {
		if c.Type == t {
			return c, true
		}
	}
	return Codec{}, false
}

// blocks calls decode for each block of n elements in size bytes.
func blocks(dst []float32, src []byte, n, size int, decode func(y []float32, x []byte)) {
	for len(src) >= size {
		decode(dst[:n:n], src[:size:size])
		dst, src = dst[n:], src[size:]
	}
}

func u16(p []byte) uint16 { return binary.LittleEndian.Uint16(p) }
func u32(p []byte) uint32 { return binary.LittleEndian.Uint32(p) }

// half reads a float16.
func half(p []byte) float32 { return halfToFloat(u16(p)) }
