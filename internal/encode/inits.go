package encode

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/transformers"
)

// SetByHand returns the first quantized weight that the class of the model, or of a model
// inside it, sets while it is loaded; -1 for none. A model inside has its own class for that.
func (e *Linear) SetByHand() int {
	types := e.Rule.ModelTypes[:min(len(e.Rule.ModelTypes), transformers.MostInside)]
	return slices.IndexFunc(e.Weights, func(w QuantizedWeight) bool {
		_, last, _ := transformers.CutLast(strings.TrimSuffix(w.Name, ".weight"))
		return slices.ContainsFunc(types, func(kind string) bool {
			return transformers.SetsByHand(kind, last)
		})
	})
}

// SetEach returns the first quantized weight of a model, or of one inside it, whose class sets
// the weights of all linear modules; -1 for none.
func (e *Linear) SetEach() int {
	return slices.IndexFunc(e.Weights, func(w QuantizedWeight) bool {
		kind := e.Rule.InsideOf(strings.TrimSuffix(w.Name, ".weight"))
		return transformers.SetsEach(kind) || kind == "" && e.Rule.Unplaced(transformers.SetsEach)
	})
}

// NoCodesOf returns why transformers does not load codes of a module whose weight it sets while
// it loads the model; "" if there is none.
func (e *Linear) NoCodesOf() string {
	set := e.SetByHand()
	if set < 0 {
		return ""
	}
	return "it sets the weight of " + strings.TrimSuffix(e.Weights[set].Name, ".weight") + " by hand while it loads, and codes have none"
}
