package pth

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A scalar is an element type of torch: its name, the bytes of what a stride
// counts, and the type of this program, Unknown where there is none.
type scalar struct {
	name  string
	size  uint64
	dtype tensor.DType
}

// The element types, as torch 2.15's c10/core/ScalarType.h lists them. The
// sub-byte quantized types and float4 pack several elements in one byte.
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

// torchDot begins the name of every type.
const torchDot = "torch."

// findScalar finds an element type by its name without "torch.".
func findScalar(name string) *scalar {
	for i := range scalars {
		if scalars[i].name[len(torchDot):] == name {
			return &scalars[i]
		}
	}
	return nil
}

// findStorageClass finds the element type of a storage class. A storage without
// a type counts bytes; TypedStorage says nothing of its elements.
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
	// The others are called as their types, but for the case.
	name, ok := strings.CutSuffix(class, "Storage")
	if !ok || name == "" {
		return nil
	}
	return findScalar(strings.ToLower(name))
}

// quantized reports a type whose numbers mean nothing without a scale.
func (s *scalar) quantized() bool {
	switch s.dtype {
	case tensor.QI8, tensor.QU8, tensor.QI32, tensor.QU4x2, tensor.QU2x4:
		return true
	}
	return false
}

// order is the byte order of a type's elements in a file of this order.
func (s *scalar) order(file tensor.Order) tensor.Order {
	if s.size == 1 {
		return tensor.Little
	}
	return file
}

// swapped is how many bytes a loader turns around at once where the file has
// another byte order: the halves of a complex number on their own.
func (s *scalar) swapped() uint64 {
	if s.complex() {
		return s.size / 2
	}
	return s.size
}

func (s *scalar) complex() bool {
	return strings.HasPrefix(s.name, "torch.complex") || strings.HasPrefix(s.name, "torch.bcomplex")
}

// differentiable reports the types whose tensors can require a gradient.
func (s *scalar) differentiable() bool {
	return s.complex() || strings.HasPrefix(s.name, "torch.float") || strings.HasPrefix(s.name, "torch.bfloat")
}
