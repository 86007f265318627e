package encode

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
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

// setEach returns the first quantized weight of a model, or of one inside it, whose class sets
// the weights of all linear modules; -1 for none.
func (e *Linear) setEach() int {
	return slices.IndexFunc(e.Weights, func(w QuantizedWeight) bool {
		kind := e.Rule.InsideOf(strings.TrimSuffix(w.Name, ".weight"))
		return transformers.SetsEach(kind) || kind == "" && e.Rule.Unplaced(transformers.SetsEach)
	})
}

// compressedLoads notes why transformers does not load a format of compressed-tensors by
// default, though it does where it decodes it: once all weights are known.
func (e *Linear) compressedLoads() {
	if e.BreaksAgain != "" || e.Fused == nil || e.Library != scaled.CompressedTensors || e.Format == "fp8" {
		return
	}
	const unless = "; with dequantize=True in its CompressedTensorsConfig it loads"
	if packs := !strings.HasPrefix(e.Format, "fp8_") && e.Format != "mxfp8" && e.Format != "w8a8"; packs {
		if set := e.SetByHand(); set >= 0 {
			e.BreaksAgain = "it sets the weight of " + strings.TrimSuffix(e.Weights[set].Name, ".weight") + " by hand while it loads, and packed codes have none" + unless
			return
		}
		if set := e.setEach(); set >= 0 {
			e.BreaksAgain = "it sets the weight of every linear module by hand while it loads, and packed codes have none, as " + strings.TrimSuffix(e.Weights[set].Name, ".weight") + unless
			return
		}
		if why := transformers.Breaks(transformers.PackedRows, e.Type); why != "" {
			e.BreaksAgain = why
			return
		}
	}
	if !transformers.Renames(e.Type) || e.knownNames() {
		return
	}
	kept := slices.IndexFunc(e.Kept, func(k KeptMatrix) bool { return k.Reason == transformers.None || k.Reason == transformers.Excluded })
	if kept >= 0 {
		e.BreaksAgain = "it gives modules other names than the file, and looks for codes of " + strings.TrimSuffix(e.Kept[kept].Name, ".weight") + ", which is left alone" + unless
	}
}
