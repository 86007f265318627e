package quant

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Every scheme is one row, which stands in the file of its bind.
var schemes = []*scheme{
	&comfyScheme,
	&ggmlScheme,
	&bnb4Scheme,
	&bnb8Scheme,
	&gptqScheme,
	&awqScheme,
	&fp8Scheme,
	&nvfp4Scheme,
	&mxfp4Scheme,
	&packedScheme,
	&int8Scheme,
	&mlxScheme,
	&gemvScheme,
	&gemvFastScheme,
	&bitnetScheme,
	&modelopt4Scheme,
	&gemmaScheme,
	&hqqScheme,
	&sparseScheme,
	&torchaoScheme,
	&mistralScheme,
	&sdnqScheme,
	&quantoScheme,
}

// Rows is the table that everything asks. A bind has it from its set: a scheme
// that refers to the table would refer to itself.
var rows = newTable(schemes, foreigners)

// A Support is a row of the table of schemes.
type Support struct {
	Name, Stores, Oracle string
}

// Schemes lists what is decoded, and what is known and refused by name.
func Schemes() (decoded []Support, refusedNames []string) {
	for _, s := range rows.rows {
		decoded = append(decoded, Support{s.name, s.stores, s.oracle})
	}
	for _, f := range foreigners {
		refusedNames = append(refusedNames, f.name)
	}
	slices.Sort(refusedNames)
	return decoded, refusedNames
}

// Endings lists what publishers append to the name of a quantized model, longer
// ones first.
func Endings() (all []string) {
	for _, s := range rows.rows {
		all = union(all, s.endings)
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return all
}

// Describes reports a key of a file's metadata that says how weights are
// quantized, and is untrue of the decoded model.
func Describes(key string) bool { return rows.describes(key) }

// Any reports whether a model may hold quantized weights: whether any tensor
// has a type or a name that a row of the table could take for a main tensor.
// Where it says no, [Plan] binds nothing, and costs what it costs for nothing.
func Any(m tensor.Model) bool {
	for i := range m.Tensors() {
		if rows.holdsCodes(&i) {
			return true
		}
	}
	return false
}
