package transformers

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// typedText lists linear modules to whose weight's type the class of a type converts numbers when
// it runs, without asking whether that is a type of numbers. Quantized, they would make
// bytes of them. crosscheck/linears/typed.py generates it from the sources.
//
//go:embed typed.txt
var typedText string

var typedRows = sync.OnceValue(func() map[string]string { return rowsByType(typedText) })

// Typed reports whether the model, or one inside it, converts numbers to the type of a
// module's weight.
func (r *Rule) Typed(module string) bool {
	return slices.ContainsFunc(r.ModelTypes[:min(len(r.ModelTypes), MostInside)], func(kind string) bool {
		for end := range strings.FieldsSeq(typedRows()[kind]) {
			if module == end || strings.HasSuffix(module, "."+end) {
				return true
			}
		}
		return false
	})
}
