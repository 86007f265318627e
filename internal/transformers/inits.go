package transformers

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// initsText lists types whose GPTQ and AWQ formats transformers does not load: because it
// initializes the weight of some linear modules, which have only codes, or because it
// refuses GPTQ for a main input other than input_ids. crosscheck/linears/inits.py
// generates it.
//
//go:embed inits.txt
var initsText string

var initRows = sync.OnceValue(func() map[string]string { return rowsByType(initsText) })

// MainInput returns the main input of a type if it is not input_ids, or "".
func MainInput(modelType string) string {
	_, input, _ := strings.Cut(initRows()[modelType], "|")
	return input
}

// SetsByHand reports whether the class of a type sets the weight of modules of a name while
// it is loaded.
func SetsByHand(modelType, last string) bool {
	names, _, _ := strings.Cut(initRows()[modelType], "|")
	return slices.Contains(strings.Fields(names), last)
}

// each means all linear modules in the table.
const each = "*"

// SetsEach reports whether the class of a type sets the weight of all its linear modules
// while it is loaded, without asking whether they have one.
func SetsEach(modelType string) bool { return SetsByHand(modelType, each) }

// InsideOf returns the type, of those inside the model, that builds a module; "" for none, which
// leaves the model's own.
func (r *Rule) InsideOf(module string) string {
	for _, t := range r.Inside {
		if t.below(module) != 0 {
			return t.kind
		}
	}
	return ""
}

// Unplaced reports whether a type is so that could build a module which no type inside the model is
// known to build: the model's own, or one whose modules are not in the table.
func (r *Rule) Unplaced(is func(modelType string) bool) bool {
	return slices.ContainsFunc(r.ModelTypes[:min(len(r.ModelTypes), MostInside)], func(kind string) bool {
		inside := slices.ContainsFunc(r.Inside, func(t *Linears) bool { return t.kind == kind })
		return !inside && is(kind)
	})
}
