package tfbundle

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A storedType is a row of DataType.
type storedType struct {
	name  string
	dtype tensor.DType
	width int64 // in bytes, 0 for texts
}

// types are those that a checkpoint can hold, by number: types.proto of TensorFlow 2.21. An element of fewer than eight
// bits takes a byte.
var types = [...]storedType{
	1:  {"float32", tensor.F32, 4},
	2:  {"float64", tensor.F64, 8},
	3:  {"int32", tensor.I32, 4},
	4:  {"uint8", tensor.U8, 1},
	5:  {"int16", tensor.I16, 2},
	6:  {"int8", tensor.I8, 1},
	7:  {name: "string"},
	8:  {"complex64", tensor.C64, 8},
	9:  {"int64", tensor.I64, 8},
	10: {"bool", tensor.Bool, 1},
	11: {"qint8", tensor.Unknown, 1},
	12: {"quint8", tensor.Unknown, 1},
	13: {"qint32", tensor.Unknown, 4},
	14: {"bfloat16", tensor.BF16, 2},
	15: {"qint16", tensor.Unknown, 2},
	16: {"quint16", tensor.Unknown, 2},
	17: {"uint16", tensor.U16, 2},
	18: {"complex128", tensor.C128, 16},
	19: {"float16", tensor.F16, 2},
	22: {"uint32", tensor.U32, 4},
	23: {"uint64", tensor.U64, 8},
	24: {"float8_e5m2", tensor.F8E5M2, 1},
	25: {"float8_e4m3fn", tensor.F8E4M3, 1},
	26: {"float8_e4m3fnuz", tensor.F8E4M3FNUZ, 1},
	27: {"float8_e4m3b11fnuz", tensor.Unknown, 1},
	28: {"float8_e5m2fnuz", tensor.F8E5M2FNUZ, 1},
	29: {"int4", tensor.Unknown, 1},
	30: {"uint4", tensor.Unknown, 1},
	31: {"int2", tensor.Unknown, 1},
	32: {"uint2", tensor.Unknown, 1},
	33: {"float4_e2m1fn", tensor.Unknown, 1},
}

// typeName says which type a checkpoint cannot hold.
func typeName(n uint64) string {
	switch n {
	case 20:
		return "a resource, a handle of a program that ran"
	case 21:
		return "a variant, which code of the program that loads it decodes"
	}
	return fmt.Sprintf("type %d", n)
}
