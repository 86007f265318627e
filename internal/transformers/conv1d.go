package transformers

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// conv1DNames are the last parts of names of the modules that are transformers' Conv1D, by the
// model_type: those that the table marks so. Their weight is stored [in, out], a linear module's
// [out, in].
var conv1DNames = sync.OnceValue(func() map[string][]string {
	found := map[string][]string{}
	for kind, row := range linearRows() {
		if !strings.Contains(row, string(markConv1D)) {
			continue
		}
		conv := map[string]bool{}
		linearsOf(kind).root.last("", map[string]bool{}, conv, map[string]bool{})
		if conv[attention] {
			conv[crossAttention] = true
		}
		found[kind] = slices.Sorted(maps.Keys(conv))
	}
	return found
})

// GPT-2's attention has one more Conv1D as a decoder beside an encoder, which no model of the table
// is by default.
const (
	attention      = "c_attn"
	crossAttention = "q_attn"
)

// HasConv1D reports whether models of a type have modules of class Conv1D.
func HasConv1D(modelType string) bool { return conv1DNames()[modelType] != nil }

// IsConv1D reports whether modules with a name, of which only the last part counts, are of class
// Conv1D in models of a type.
func IsConv1D(modelType, module string) bool {
	_, last, _ := CutLast(module)
	return slices.Contains(conv1DNames()[modelType], last)
}

// isConv1DSomewhere reports whether modules of a name are of class Conv1D in models of any type.
func isConv1DSomewhere(last string) bool {
	for kind := range conv1DNames() {
		if IsConv1D(kind, last) {
			return true
		}
	}
	return false
}

// Transposed reports whether the weight of a module is stored [in, out]. The place in the model
// decides where the tables have it; other types in the same model may call linear modules so. It is
// not sure where two types in a model have a module of that name in one place, of two classes.
func (r *Rule) Transposed(module string) (is, sure bool) {
	marks := []byte{0}
	if r.Table != nil {
		marks[0] = r.Table.mark(module)
	}
	if marks[0] == 0 {
		for _, t := range r.Inside {
			marks = append(marks, t.below(module))
		}
	}
	conv := slices.Contains(marks, markConv1D)
	linear := slices.ContainsFunc(marks, func(m byte) bool { return m != 0 && m != markConv1D && m != markOther })
	if conv || linear {
		return conv, !conv || !linear
	}
	return slices.ContainsFunc(r.Named, func(kind string) bool { return IsConv1D(kind, module) }), true
}
