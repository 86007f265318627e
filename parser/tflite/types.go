package tflite

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// An elementType is how the elements of a type are stored.
type elementType struct {
	dtype tensor.DType
	bits  int64 // of an element
}

// elements has the types whose elements are numbers, by the names of the schema.
var elements = map[string]elementType{
	"FLOAT32": {tensor.F32, 32}, "FLOAT16": {tensor.F16, 16}, "BFLOAT16": {tensor.BF16, 16}, "FLOAT64": {tensor.F64, 64},
	"FLOAT8_E4M3FN": {tensor.F8E4M3, 8}, "FLOAT8_E5M2": {tensor.F8E5M2, 8},
	"COMPLEX64": {tensor.C64, 64}, "COMPLEX128": {tensor.C128, 128},
	"BOOL": {tensor.Bool, 8},
	"INT8": {tensor.I8, 8}, "INT16": {tensor.I16, 16}, "INT32": {tensor.I32, 32}, "INT64": {tensor.I64, 64},
	"UINT8": {tensor.U8, 8}, "UINT16": {tensor.U16, 16}, "UINT32": {tensor.U32, 32}, "UINT64": {tensor.U64, 64},
	"INT4": {tensor.I8, 4}, "UINT4": {tensor.U8, 4}, "INT2": {tensor.I8, 2},
}

// listed are the types whose tensors are listed only.
var listed = map[string]bool{"STRING": true, "RESOURCE": true, "VARIANT": true}
