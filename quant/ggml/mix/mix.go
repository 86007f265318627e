package mix

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Mix is a named choice of types.
type Mix struct {
	Name string
	// FileType is general.file_type of the file: llama.cpp's LLAMA_FTYPE.
	FileType uint32
	// Base is the type of tensors without a rule.
	Base tensor.DType

	output tensor.DType // of the output matrix; default Q6_K
	tokens tensor.DType // of token embeddings that are not the output; default Base
	low    bool         // IQ1 and IQ2, which have rules of their own
}

var mixes = [...]Mix{
	{Name: "Q4_0", FileType: 2, Base: tensor.Q4_0},
	{Name: "Q4_1", FileType: 3, Base: tensor.Q4_1},
	{Name: "Q8_0", FileType: 7, Base: tensor.Q8_0, output: tensor.Q8_0},
	{Name: "Q5_0", FileType: 8, Base: tensor.Q5_0},
	{Name: "Q5_1", FileType: 9, Base: tensor.Q5_1},
	{Name: "Q2_K", FileType: 10, Base: tensor.Q2_K},
	{Name: "Q3_K_S", FileType: 11, Base: tensor.Q3_K},
	{Name: "Q3_K_M", FileType: 12, Base: tensor.Q3_K},
	{Name: "Q3_K_L", FileType: 13, Base: tensor.Q3_K},
	{Name: "Q4_K_S", FileType: 14, Base: tensor.Q4_K},
	{Name: "Q4_K_M", FileType: 15, Base: tensor.Q4_K},
	{Name: "Q5_K_S", FileType: 16, Base: tensor.Q5_K},
	{Name: "Q5_K_M", FileType: 17, Base: tensor.Q5_K},
	{Name: "Q6_K", FileType: 18, Base: tensor.Q6_K},
	{Name: "IQ2_XXS", FileType: 19, Base: tensor.IQ2_XXS, output: tensor.Q5_K, tokens: tensor.Q2_K, low: true},
	{Name: "IQ2_XS", FileType: 20, Base: tensor.IQ2_XS, output: tensor.Q5_K, tokens: tensor.Q2_K, low: true},
	{Name: "Q2_K_S", FileType: 21, Base: tensor.Q2_K},
	{Name: "IQ3_XS", FileType: 22, Base: tensor.IQ3_S},
	{Name: "IQ3_XXS", FileType: 23, Base: tensor.IQ3_XXS, output: tensor.Q5_K, tokens: tensor.IQ3_S},
	{Name: "IQ1_S", FileType: 24, Base: tensor.IQ1_S, output: tensor.Q5_K, tokens: tensor.Q2_K, low: true},
	{Name: "IQ4_NL", FileType: 25, Base: tensor.IQ4_NL},
	{Name: "IQ3_S", FileType: 26, Base: tensor.IQ3_S},
	{Name: "IQ3_M", FileType: 27, Base: tensor.IQ3_S},
	{Name: "IQ2_S", FileType: 28, Base: tensor.IQ2_XS, output: tensor.Q5_K, tokens: tensor.IQ3_S, low: true},
	{Name: "IQ2_M", FileType: 29, Base: tensor.IQ2_S, output: tensor.Q5_K, tokens: tensor.IQ3_S, low: true},
	{Name: "IQ4_XS", FileType: 30, Base: tensor.IQ4_XS},
	{Name: "IQ1_M", FileType: 31, Base: tensor.IQ1_M, output: tensor.Q5_K, tokens: tensor.Q2_K, low: true},
	{Name: "TQ1_0", FileType: 36, Base: tensor.TQ1_0, tokens: tensor.Q4_K},
	{Name: "TQ2_0", FileType: 37, Base: tensor.TQ2_0, tokens: tensor.Q4_K},
	{Name: moe, FileType: 38, Base: tensor.MXFP4, output: tensor.Q8_0},
	{Name: "Q1_0", FileType: 40, Base: tensor.Q1_0},
	{Name: "Q2_0", FileType: 41, Base: tensor.Q2_0, tokens: tensor.Q4_K},
}

// moe has one rule: stacks of experts are MXFP4, everything else Q8_0.
const moe = "MXFP4_MOE"

// aliases are names that mean another mix.
var aliases = map[string]string{"Q3_K": "Q3_K_M", "Q4_K": "Q4_K_M", "Q5_K": "Q5_K_M"}

// Find returns the mix with a name, in any case.
func Find(name string) (Mix, bool) {
	name = strings.ToUpper(name)
	if full, ok := aliases[name]; ok {
		name = full
	}
	for _, m := range mixes {
		if m.Name == name {
			return m, true
		}
	}
	return Mix{}, false
}

// All lists the mixes.
func All() []Mix { return append([]Mix(nil), mixes[:]...) }
