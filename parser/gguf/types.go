package gguf

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Type is how ggml numbers the element types of tensors.
type Type uint32

// typeCount is one past the highest number that ggml 0.25 gives.
const typeCount = 43

type typeRow struct {
	name  string
	dtype tensor.DType // Unknown for a number whose type ggml has removed
}

// types has a row for each number, with the name in ggml.h. Numbers without a type were
// given up again; files with them exist, readers do not.
var types = [typeCount]typeRow{
	0:  {"F32", tensor.F32},
	1:  {"F16", tensor.F16},
	2:  {"Q4_0", tensor.Q4_0},
	3:  {"Q4_1", tensor.Q4_1},
	4:  {"Q4_2", tensor.Unknown},
	5:  {"Q4_3", tensor.Unknown},
	6:  {"Q5_0", tensor.Q5_0},
	7:  {"Q5_1", tensor.Q5_1},
	8:  {"Q8_0", tensor.Q8_0},
	9:  {"Q8_1", tensor.Q8_1},
	10: {"Q2_K", tensor.Q2_K},
	11: {"Q3_K", tensor.Q3_K},
	12: {"Q4_K", tensor.Q4_K},
	13: {"Q5_K", tensor.Q5_K},
	14: {"Q6_K", tensor.Q6_K},
	15: {"Q8_K", tensor.Q8_K},
	16: {"IQ2_XXS", tensor.IQ2_XXS},
	17: {"IQ2_XS", tensor.IQ2_XS},
	18: {"IQ3_XXS", tensor.IQ3_XXS},
	19: {"IQ1_S", tensor.IQ1_S},
	20: {"IQ4_NL", tensor.IQ4_NL},
	21: {"IQ3_S", tensor.IQ3_S},
	22: {"IQ2_S", tensor.IQ2_S},
	23: {"IQ4_XS", tensor.IQ4_XS},
	24: {"I8", tensor.I8},
	25: {"I16", tensor.I16},
	26: {"I32", tensor.I32},
	27: {"I64", tensor.I64},
	28: {"F64", tensor.F64},
	29: {"IQ1_M", tensor.IQ1_M},
	30: {"BF16", tensor.BF16},
	31: {"Q4_0_4_4", tensor.Unknown},
	32: {"Q4_0_4_8", tensor.Unknown},
	33: {"Q4_0_8_8", tensor.Unknown},
	34: {"TQ1_0", tensor.TQ1_0},
	35: {"TQ2_0", tensor.TQ2_0},
	36: {"IQ4_NL_4_4 or BitNet's I2_S", tensor.Unknown},
	37: {"IQ4_NL_4_8", tensor.Unknown},
	38: {"IQ4_NL_8_8", tensor.Unknown},
	39: {"MXFP4", tensor.MXFP4},
	40: {"NVFP4", tensor.NVFP4},
	41: {"Q1_0", tensor.Q1_0},
	42: {"Q2_0", tensor.Q2_0},
}

// DType returns the type shared by all formats, Unknown for a number without one.
func (t Type) DType() tensor.DType {
	if t >= typeCount {
		return tensor.Unknown
	}
	return types[t].dtype
}

// Removed reports whether ggml once used the number and no longer reads it.
func (t Type) Removed() bool { return t < typeCount && types[t].dtype == tensor.Unknown }

// String returns ggml's name of the type. For a type that is not read here it adds the
// number and who uses it.
func (t Type) String() string {
	switch {
	case t >= typeCount:
		if name, fork := t.fork(); fork != "" {
			return fmt.Sprintf("type %d (%s of %s)", uint32(t), name, fork)
		}
		return fmt.Sprintf("type %d", uint32(t))
	case t.Removed():
		return fmt.Sprintf("%s (type %d, removed from ggml)", types[t].name, uint32(t))
	default:
		return types[t].name
	}
}

// TypeOf returns the number of an element type; ok is false if GGUF does not have it.
func TypeOf(d tensor.DType) (Type, bool) {
	for t, row := range types {
		if row.dtype == d && d != tensor.Unknown {
			return Type(t), true
		}
	}
	return 0, false
}

// ikTypes are the numbers that ik_llama.cpp's ggml.h adds to ggml's. Only that program
// loads files with them.
var ikTypes = [...]struct {
	t    Type
	name string
}{
	{97, "Q8_0_X4"}, {99, "Q8_2_X4"},
	{133, "Q6_0"}, {134, "IQ1_BN"}, {135, "IQ2_BN"}, {136, "Q8_K64"},
	{137, "IQ2_K"}, {138, "IQ3_K"}, {139, "IQ4_K"}, {140, "IQ5_K"}, {141, "IQ6_K"},
	{144, "IQ4_KS"}, {145, "IQ2_KS"}, {146, "IQ4_KSS"}, {148, "Q8_K32"}, {151, "Q8_KV"},
	{152, "IQ5_KS"}, {153, "IQ2_KT"}, {154, "IQ3_KT"}, {155, "IQ4_KT"},
	{156, "IQ3_KS"}, {157, "IQ2_KL"}, {158, "IQ1_KT"},
	{202, "Q4_0_R8"}, {206, "Q5_0_R4"}, {208, "Q8_0_R8"},
	{210, "Q2_K_R4"}, {211, "Q3_K_R4"}, {212, "Q4_K_R4"}, {213, "Q5_K_R4"}, {214, "Q6_K_R4"},
	{216, "IQ2_XXS_R4"}, {217, "IQ2_XS_R4"}, {218, "IQ3_XXS_R4"}, {219, "IQ1_S_R4"},
	{220, "IQ4_NL_R4"}, {221, "IQ3_S_R4"}, {222, "IQ2_S_R4"}, {223, "IQ4_XS_R8"},
	{229, "IQ1_M_R4"}, {230, "BF16_R16"}, {233, "Q6_0_R4"},
	{335, "IQ2_BN_R4"}, {337, "IQ2_K_R4"}, {338, "IQ3_K_R4"}, {339, "IQ4_K_R4"}, {340, "IQ5_K_R4"},
	{344, "IQ4_KS_R4"}, {352, "IQ5_KS_R4"}, {397, "Q8_K_R16"}, {398, "Q8_KV_R8"}, {399, "Q8_K_R8"},
}

func (t Type) fork() (name, fork string) {
	for _, row := range ikTypes {
		if row.t == t {
			return row.name, "ik_llama.cpp"
		}
	}
	for _, row := range forkTypes {
		if row.t == t {
			return row.name, row.fork
		}
	}
	return "", ""
}

// forkTypes are the numbers above ggml's own that other forks and a pull request use for
// weights. Types used only in caches are in no file.
var forkTypes = [...]struct {
	t          Type
	name, fork string
}{
	{43, "STQ1_0", stqFork},
	{45, "TQ3_1S", turboFork}, {46, "TQ4_1S", turboFork}, {48, "Q8_CR", turboFork},
}

const (
	stqFork   = "llama.cpp's pull request 22836"
	turboFork = "TurboQuant's forks of llama.cpp"
)
