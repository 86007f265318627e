package onnx

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// Fields of TensorProto.
const (
	fieldDims     = 1
	fieldType     = 2
	fieldSegment  = 3
	fieldFloats   = 4
	fieldInt32s   = 5
	fieldTexts    = 6
	fieldInt64s   = 7
	fieldName     = 8
	fieldRaw      = 9
	fieldDoubles  = 10
	fieldUint64s  = 11
	fieldExternal = 13
	fieldLocation = 14
)

// An elementType is a row of TensorProto.DataType.
type elementType struct {
	name  string
	dtype tensor.DType
	bits  uint8  // of an element, 0 for texts, which cannot be raw
	field uint64 // the field of elements that are not raw
	parts uint8  // numbers an element has in that field, if it is not one
	// min and max bound the numbers of the field: readers cut what is outside in different ways.
	min int64
	max uint64
}

// types are the types by number. Of the types with less than eight bits, whole numbers are
// read one by one, as numpy_helper.to_array gives them, and FLOAT4E2M1 stays packed. Those of
// six bits are listed only: ONNX ends them at a byte, and other containers at three.
var types = [...]elementType{
	1:  {name: "FLOAT", dtype: tensor.F32, bits: 32, field: fieldFloats},
	2:  {name: "UINT8", dtype: tensor.U8, bits: 8, field: fieldInt32s, max: 1<<8 - 1},
	3:  {name: "INT8", dtype: tensor.I8, bits: 8, field: fieldInt32s, min: -1 << 7, max: 1<<7 - 1},
	4:  {name: "UINT16", dtype: tensor.U16, bits: 16, field: fieldInt32s, max: 1<<16 - 1},
	5:  {name: "INT16", dtype: tensor.I16, bits: 16, field: fieldInt32s, min: -1 << 15, max: 1<<15 - 1},
	6:  {name: "INT32", dtype: tensor.I32, bits: 32, field: fieldInt32s, min: -1 << 31, max: 1<<31 - 1},
	7:  {name: "INT64", dtype: tensor.I64, bits: 64, field: fieldInt64s, min: -1 << 63, max: 1<<63 - 1},
	8:  {name: "STRING", field: fieldTexts},
	9:  {name: "BOOL", dtype: tensor.Bool, bits: 8, field: fieldInt32s, max: 1},
	10: {name: "FLOAT16", dtype: tensor.F16, bits: 16, field: fieldInt32s, max: 1<<16 - 1},
	11: {name: "DOUBLE", dtype: tensor.F64, bits: 64, field: fieldDoubles},
	12: {name: "UINT32", dtype: tensor.U32, bits: 32, field: fieldUint64s, max: 1<<32 - 1},
	13: {name: "UINT64", dtype: tensor.U64, bits: 64, field: fieldUint64s, max: 1<<64 - 1},
	14: {name: "COMPLEX64", dtype: tensor.C64, bits: 64, field: fieldFloats, parts: 2},
	15: {name: "COMPLEX128", dtype: tensor.C128, bits: 128, field: fieldDoubles, parts: 2},
	16: {name: "BFLOAT16", dtype: tensor.BF16, bits: 16, field: fieldInt32s, max: 1<<16 - 1},
	17: {name: "FLOAT8E4M3FN", dtype: tensor.F8E4M3, bits: 8, field: fieldInt32s, max: 1<<8 - 1},
	18: {name: "FLOAT8E4M3FNUZ", dtype: tensor.F8E4M3FNUZ, bits: 8, field: fieldInt32s, max: 1<<8 - 1},
	19: {name: "FLOAT8E5M2", dtype: tensor.F8E5M2, bits: 8, field: fieldInt32s, max: 1<<8 - 1},
	20: {name: "FLOAT8E5M2FNUZ", dtype: tensor.F8E5M2FNUZ, bits: 8, field: fieldInt32s, max: 1<<8 - 1},
	21: {name: "UINT4", dtype: tensor.U8, bits: 4, field: fieldInt32s, max: 1<<8 - 1},
	22: {name: "INT4", dtype: tensor.I8, bits: 4, field: fieldInt32s, max: 1<<8 - 1},
	23: {name: "FLOAT4E2M1", dtype: tensor.F4, bits: 4, field: fieldInt32s, max: 1<<8 - 1},
	24: {name: "FLOAT8E8M0", dtype: tensor.F8E8M0, bits: 8, field: fieldInt32s, max: 1<<8 - 1},
	25: {name: "UINT2", dtype: tensor.U8, bits: 2, field: fieldInt32s, max: 1<<8 - 1},
	26: {name: "INT2", dtype: tensor.I8, bits: 2, field: fieldInt32s, max: 1<<8 - 1},
	27: {name: "FLOAT6E2M3", bits: 6, field: fieldInt32s, max: 1<<6 - 1},
	28: {name: "FLOAT6E3M2", bits: 6, field: fieldInt32s, max: 1<<6 - 1},
}

// stored returns how many bytes n elements take in the file.
func (t *elementType) stored(n int64) int64 {
	bits := int64(t.bits)
	return n/8*bits + (n%8*bits+7)/8
}

// packed reports whether a byte holds several whole numbers, which are read one by one.
func (t *elementType) packed() bool {
	return t.bits < 8 && (t.dtype == tensor.U8 || t.dtype == tensor.I8)
}

// numbers returns how many numbers n elements are in the field of their type.
func (t *elementType) numbers(n int64) int64 {
	switch {
	case t.parts > 0:
		return n * int64(t.parts)
	case t.bits > 0 && t.bits <= 4:
		return t.stored(n)
	}
	return n
}
