package safetensors

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// dtypes are the element types of safetensors 0.8 by the format's names, in the order of
// the reference's enumeration (enum Dtype, safetensors/src/tensor.rs). Its writer sorts
// by that order, descending.
var dtypes = [...]struct {
	name  string
	dtype tensor.DType
}{
	{"BOOL", tensor.Bool},
	{"F4", tensor.F4},
	{"F6_E2M3", tensor.F6E2M3},
	{"F6_E3M2", tensor.F6E3M2},
	{"U8", tensor.U8},
	{"I8", tensor.I8},
	{"F8_E5M2", tensor.F8E5M2},
	{"F8_E4M3", tensor.F8E4M3},
	{"F8_E8M0", tensor.F8E8M0},
	{"F8_E4M3FNUZ", tensor.F8E4M3FNUZ},
	{"F8_E5M2FNUZ", tensor.F8E5M2FNUZ},
	{"I16", tensor.I16},
	{"U16", tensor.U16},
	{"F16", tensor.F16},
	{"BF16", tensor.BF16},
	{"I32", tensor.I32},
	{"U32", tensor.U32},
	{"F32", tensor.F32},
	{"C64", tensor.C64},
	{"F64", tensor.F64},
	{"I64", tensor.I64},
	{"U64", tensor.U64},
}

// parseDType returns the type with a name of this format.
func parseDType(name string) tensor.DType {
	switch name { // the types of nearly all tensors
	case "BF16":
		return tensor.BF16
	case "F32":
		return tensor.F32
	}
	for i := range dtypes {
		if dtypes[i].name == name {
			return dtypes[i].dtype
		}
	}
	return tensor.Unknown
}

// ranks has each type's position in the writer's order, or -1 for a type that the format
// cannot hold.
var ranks = func() (r [256]int8) {
	for d := range r {
		r[d] = -1
	}
	for i, t := range dtypes {
		r[t.dtype] = int8(i)
	}
	return r
}()

func rank(d tensor.DType) int { return int(ranks[d]) }

// Stores reports whether the format has a name for the type.
func Stores(d tensor.DType) bool { return rank(d) >= 0 }
