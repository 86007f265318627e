package pth

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A scalar is an element type of torch: its name, the bytes of the unit that strides
// count, and its DType, Unknown if there is none.
type scalar struct {
	name  string
	size  uint64
	dtype tensor.DType
}

// scalars are the element types listed in c10/core/ScalarType.h of torch 2.15. The
// sub-byte quantized types and float4 pack several elements into a byte.
var scalars = [...]scalar{
	{"torch.bool", 1, tensor.Bool},
	{"torch.uint8", 1, tensor.U8},
	{"torch.int8", 1, tensor.I8},
	{"torch.uint16", 2, tensor.U16},
	{"torch.int16", 2, tensor.I16},
	{"torch.uint32", 4, tensor.U32},
	{"torch.int32", 4, tensor.I32},
	{"torch.uint64", 8, tensor.U64},
	{"torch.int64", 8, tensor.I64},
	{"torch.float16", 2, tensor.F16},
	{"torch.bfloat16", 2, tensor.BF16},
	{"torch.float32", 4, tensor.F32},
	{"torch.float64", 8, tensor.F64},
	{"torch.complex32", 4, tensor.C32},
	{"torch.complex64", 8, tensor.C64},
	{"torch.complex128", 16, tensor.C128},
	{"torch.float8_e4m3fn", 1, tensor.F8E4M3},
	{"torch.float8_e5m2", 1, tensor.F8E5M2},
	{"torch.float8_e4m3fnuz", 1, tensor.F8E4M3FNUZ},
	{"torch.float8_e5m2fnuz", 1, tensor.F8E5M2FNUZ},
	{"torch.float8_e8m0fnu", 1, tensor.F8E8M0},
	{"torch.float4_e2m1fn_x2", 1, tensor.F4},
	{"torch.qint8", 1, tensor.QI8},
	{"torch.quint8", 1, tensor.QU8},
	{"torch.qint32", 4, tensor.QI32},
	{"torch.quint4x2", 1, tensor.QU4x2},
	{"torch.quint2x4", 1, tensor.QU2x4},
	{"torch.bits8", 1, tensor.Unknown},
	{"torch.bits16", 2, tensor.Unknown},
	{"torch.bits1x8", 1, tensor.Unknown},
	{"torch.bits2x4", 1, tensor.Unknown},
	{"torch.bits4x2", 1, tensor.Unknown},
	{"torch.bcomplex32", 4, tensor.Unknown},
	{"torch.int1", 1, tensor.Unknown},
	{"torch.int2", 1, tensor.Unknown},
	{"torch.int3", 1, tensor.Unknown},
	{"torch.int4", 1, tensor.Unknown},
	{"torch.int5", 1, tensor.Unknown},
	{"torch.int6", 1, tensor.Unknown},
	{"torch.int7", 1, tensor.Unknown},
	{"torch.uint1", 1, tensor.Unknown},
	{"torch.uint2", 1, tensor.Unknown},
	{"torch.uint3", 1, tensor.Unknown},
	{"torch.uint4", 1, tensor.Unknown},
	{"torch.uint5", 1, tensor.Unknown},
	{"torch.uint6", 1, tensor.Unknown},
	{"torch.uint7", 1, tensor.Unknown},
}

// torchDot is the prefix of the names of types.
const torchDot = "torch."

// findScalar returns the element type with a name, given without "torch.".
func findScalar(name string) *scalar {
	for i := range scalars {
		if scalars[i].name[len(torchDot):] == name {
			return &scalars[i]
		}
	}
	return nil
}

// findStorageClass returns the element type of a storage class. An UntypedStorage counts
// bytes; a TypedStorage says nothing about its elements.
func findStorageClass(class string) *scalar {
	switch class {
	case "FloatStorage":
		return findScalar("float32")
	case "DoubleStorage":
		return findScalar("float64")
	case "HalfStorage":
		return findScalar("float16")
	case "LongStorage":
		return findScalar("int64")
	case "IntStorage":
		return findScalar("int32")
	case "ShortStorage":
		return findScalar("int16")
	case "CharStorage":
		return findScalar("int8")
	case "ByteStorage", "UntypedStorage", "_UntypedStorage":
		return findScalar("uint8")
	case "ComplexFloatStorage":
		return findScalar("complex64")
	case "ComplexDoubleStorage":
		return findScalar("complex128")
	}
	// The others have the names of their types, in another case.
	name, ok := strings.CutSuffix(class, "Storage")
	if !ok || name == "" {
		return nil
	}
	return findScalar(strings.ToLower(name))
}

// quantized reports whether numbers of the type mean nothing without a scale.
func (s *scalar) quantized() bool {
	switch s.dtype {
	case tensor.QI8, tensor.QU8, tensor.QI32, tensor.QU4x2, tensor.QU2x4:
		return true
	}
	return false
}

// order returns the byte order of the type's elements in a file of the given order.
func (s *scalar) order(file tensor.Order) tensor.Order {
	if s.size == 1 {
		return tensor.Little
	}
	return file
}

// swapped returns how many bytes a loader swaps at once in a file of the other byte
// order. The parts of a complex number are swapped separately.
func (s *scalar) swapped() uint64 {
	if s.complex() {
		return s.size / 2
	}
	return s.size
}

func (s *scalar) complex() bool {
	return strings.HasPrefix(s.name, "torch.complex") || strings.HasPrefix(s.name, "torch.bcomplex")
}

// differentiable reports whether tensors of the type can require a gradient.
func (s *scalar) differentiable() bool {
	return s.complex() || strings.HasPrefix(s.name, "torch.float") || strings.HasPrefix(s.name, "torch.bfloat")
}
