package asm

// A Kind is a block type: a number of elements in a number of bytes.
type Kind uint8

// The block types, named as ggml names them.
const (
	Q4_0 Kind = iota
	Q4_1
	Q5_0
	Q5_1
	Q8_0
	Q8_1
	Q2_K
	Q3_K
	Q4_K
	Q5_K
	Q6_K
	Q8_K
	IQ1_S
	IQ1_M
	IQ2_XXS
	IQ2_XS
	IQ2_S
	IQ3_XXS
	IQ3_S
	IQ4_NL
	IQ4_XS
	TQ1_0
	TQ2_0
	MXFP4
	NVFP4
	Q1_0
	Q2_0
	Kinds // how many there are
)

// One row per type; the functions are in files named after the types.
var kinds = [Kinds]struct {
	name         string
	elems, bytes int
	decode       func(dst []float32, src []byte)
	encode       rowEncoder // nil: only decoded
}{
	Q4_0:    {"Q4_0", 32, 18, decodeQ4_0, encodeQ4_0},
	Q4_1:    {"Q4_1", 32, 20, decodeQ4_1, encodeQ4_1},
	Q5_0:    {"Q5_0", 32, 22, decodeQ5_0, encodeQ5_0},
	Q5_1:    {"Q5_1", 32, 24, decodeQ5_1, encodeQ5_1},
	Q8_0:    {"Q8_0", 32, 34, decodeQ8_0, encodeQ8_0},
	Q8_1:    {"Q8_1", 32, 36, decodeQ8_1, nil},
	Q2_K:    {"Q2_K", 256, 84, decodeQ2_K, encodeQ2_K},
	Q3_K:    {"Q3_K", 256, 110, decodeQ3_K, encodeQ3_K},
	Q4_K:    {"Q4_K", 256, 144, decodeQ4_K, encodeQ4_K},
	Q5_K:    {"Q5_K", 256, 176, decodeQ5_K, encodeQ5_K},
	Q6_K:    {"Q6_K", 256, 210, decodeQ6_K, encodeQ6_K},
	Q8_K:    {"Q8_K", 256, 292, decodeQ8_K, nil},
	IQ1_S:   {"IQ1_S", 256, 50, decodeIQ1_S, gridIQ1_S.row(50)},
	IQ1_M:   {"IQ1_M", 256, 56, decodeIQ1_M, gridIQ1_M.row(56)},
	IQ2_XXS: {"IQ2_XXS", 256, 66, decodeIQ2_XXS, gridIQ2_XXS.row(66)},
	IQ2_XS:  {"IQ2_XS", 256, 74, decodeIQ2_XS, gridIQ2_XS.row(74)},
	IQ2_S:   {"IQ2_S", 256, 82, decodeIQ2_S, gridIQ2_S.row(82)},
	IQ3_XXS: {"IQ3_XXS", 256, 98, decodeIQ3_XXS, gridIQ3_XXS.row(98)},
	IQ3_S:   {"IQ3_S", 256, 110, decodeIQ3_S, gridIQ3_S.row(110)},
	IQ4_NL:  {"IQ4_NL", 32, 18, decodeIQ4_NL, encodeIQ4_NL},
	IQ4_XS:  {"IQ4_XS", 256, 136, decodeIQ4_XS, encodeIQ4_XS},
	TQ1_0:   {"TQ1_0", 256, 54, decodeTQ1_0, encodeTQ1_0},
	TQ2_0:   {"TQ2_0", 256, 66, decodeTQ2_0, encodeTQ2_0},
	MXFP4:   {"MXFP4", 32, 17, decodeMXFP4, encodeMXFP4},
	NVFP4:   {"NVFP4", 64, 36, decodeNVFP4, encodeNVFP4},
	Q1_0:    {"Q1_0", 128, 18, decodeQ1_0, encodeQ1_0},
	Q2_0:    {"Q2_0", 64, 18, decodeQ2_0, encodeQ2_0},
}

// Elems returns the number of elements in a block.
func (k Kind) Elems() int { return kinds[k].elems }

// Bytes returns the size of a block.
func (k Kind) Bytes() int { return kinds[k].bytes }

func (k Kind) String() string { return kinds[k].name }

// Decode is the specification: it decodes whole blocks in float32 arithmetic, with each
// product rounded on its own and every NaN unchanged.
func (k Kind) Decode(dst []float32, src []byte) { kinds[k].decode(dst, src) }

// blocks calls decode for each block of n elements in size bytes.
func blocks(dst []float32, src []byte, n, size int, decode func(y []float32, x []byte)) {
	for len(src) >= size {
		decode(dst[:n:n], src[:size:size])
		dst, src = dst[n:], src[size:]
	}
}
