package tensor

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A DType is how elements are stored. The zero DType is a type unknown to this program:
// such a tensor is listed, and refused only when it is read.
type DType uint8

// The element types, by family. The names are those that safetensors, ggml and
// torch use; [DType.String] gives them.
const (
	Unknown DType = iota

	Bool
	U8
	I8
	U16
	I16
	U32
	I32
	U64
	I64
	F16
	BF16
	F32
	F64
	C32
	C64
	C128

	F8E4M3
	F8E5M2
	F8E4M3FNUZ
	F8E5M2FNUZ
	F8E8M0
	F6E2M3
	F6E3M2
	F4

	Q4_0 //nolint:revive // ggml's spelling
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

	QI8
	QU8
	QI32
	QU4x2
	QU2x4

	dtypeCount
)

// Geometry says how a type packs elements: Elems elements in Bytes bytes.
type Geometry struct {
	Elems, Bytes uint32
}

type row struct {
	name string
	Geometry
}

// dtypes has a row for each type. The block sizes of the ggml types are those of
// ggml-common.h.
var dtypes = [dtypeCount]row{
	Unknown: {"unknown", Geometry{}},

	Bool: {"BOOL", Geometry{1, 1}},
	U8:   {"U8", Geometry{1, 1}},
	I8:   {"I8", Geometry{1, 1}},
	U16:  {"U16", Geometry{1, 2}},
	I16:  {"I16", Geometry{1, 2}},
	U32:  {"U32", Geometry{1, 4}},
	I32:  {"I32", Geometry{1, 4}},
	U64:  {"U64", Geometry{1, 8}},
	I64:  {"I64", Geometry{1, 8}},
	F16:  {"F16", Geometry{1, 2}},
	BF16: {"BF16", Geometry{1, 2}},
	F32:  {"F32", Geometry{1, 4}},
	F64:  {"F64", Geometry{1, 8}},
	C32:  {"C32", Geometry{1, 4}},
	C64:  {"C64", Geometry{1, 8}},
	C128: {"C128", Geometry{1, 16}},

	F8E4M3:     {"F8_E4M3", Geometry{1, 1}},
	F8E5M2:     {"F8_E5M2", Geometry{1, 1}},
	F8E4M3FNUZ: {"F8_E4M3FNUZ", Geometry{1, 1}},
	F8E5M2FNUZ: {"F8_E5M2FNUZ", Geometry{1, 1}},
	F8E8M0:     {"F8_E8M0", Geometry{1, 1}},
	F6E2M3:     {"F6_E2M3", Geometry{4, 3}},
	F6E3M2:     {"F6_E3M2", Geometry{4, 3}},
	F4:         {"F4", Geometry{2, 1}},

	Q4_0:    {"Q4_0", Geometry{32, 18}},
	Q4_1:    {"Q4_1", Geometry{32, 20}},
	Q5_0:    {"Q5_0", Geometry{32, 22}},
	Q5_1:    {"Q5_1", Geometry{32, 24}},
	Q8_0:    {"Q8_0", Geometry{32, 34}},
	Q8_1:    {"Q8_1", Geometry{32, 36}},
	Q2_K:    {"Q2_K", Geometry{256, 84}},
	Q3_K:    {"Q3_K", Geometry{256, 110}},
	Q4_K:    {"Q4_K", Geometry{256, 144}},
	Q5_K:    {"Q5_K", Geometry{256, 176}},
	Q6_K:    {"Q6_K", Geometry{256, 210}},
	Q8_K:    {"Q8_K", Geometry{256, 292}},
	IQ1_S:   {"IQ1_S", Geometry{256, 50}},
	IQ1_M:   {"IQ1_M", Geometry{256, 56}},
	IQ2_XXS: {"IQ2_XXS", Geometry{256, 66}},
	IQ2_XS:  {"IQ2_XS", Geometry{256, 74}},
	IQ2_S:   {"IQ2_S", Geometry{256, 82}},
	IQ3_XXS: {"IQ3_XXS", Geometry{256, 98}},
	IQ3_S:   {"IQ3_S", Geometry{256, 110}},
	IQ4_NL:  {"IQ4_NL", Geometry{32, 18}},
	IQ4_XS:  {"IQ4_XS", Geometry{256, 136}},
	TQ1_0:   {"TQ1_0", Geometry{256, 54}},
	TQ2_0:   {"TQ2_0", Geometry{256, 66}},
	MXFP4:   {"MXFP4", Geometry{32, 17}},
	NVFP4:   {"NVFP4", Geometry{64, 36}},
	Q1_0:    {"Q1_0", Geometry{128, 18}},
	Q2_0:    {"Q2_0", Geometry{64, 18}},

	QI8:   {"QI8", Geometry{1, 1}},
	QU8:   {"QU8", Geometry{1, 1}},
	QI32:  {"QI32", Geometry{1, 4}},
	QU4x2: {"QU4X2", Geometry{2, 1}},
	QU2x4: {"QU2X4", Geometry{4, 1}},
}

// String returns the type's name.
func (d DType) String() string {
	if d >= dtypeCount {
		return dtypes[Unknown].name
	}
	return dtypes[d].name
}

// Geometry returns how the type packs its elements; ok is false for [Unknown].
func (d DType) Geometry() (g Geometry, ok bool) {
	if d >= dtypeCount {
		return Geometry{}, false
	}
	return dtypes[d].Geometry, dtypes[d].Bytes != 0
}

// DTypes lists every known type.
func DTypes() []DType {
	out := make([]DType, 0, dtypeCount-1)
	for d := Unknown + 1; d < dtypeCount; d++ {
		out = append(out, d)
	}
	return out
}

// ParseDType finds a type by its name.
func ParseDType(name string) (DType, bool) {
	for d := Unknown + 1; d < dtypeCount; d++ {
		if dtypes[d].name == name {
			return d, true
		}
	}
	return Unknown, false
}

// Size returns the number of bytes of n elements. ok is false if they do not fill whole
// blocks or the number overflows.
func (g Geometry) Size(n uint64) (uint64, bool) {
	if g.Elems == 0 || n%uint64(g.Elems) != 0 {
		return 0, false
	}
	return wire.Mul(n/uint64(g.Elems), uint64(g.Bytes))
}
