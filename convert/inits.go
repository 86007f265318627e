package convert

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// loadable notes why transformers would not load GPTQ or AWQ, once all weights are known.
func (e *groupedEncoder) loadable() (err error) {
	switch e.f.Library {
	case scaled.GPTQModel:
		if e.listed, err = e.takesOthers(); err != nil {
			return err
		}
	case scaled.AutoAWQ:
	default:
		return nil
	}
	input := transformers.MainInput(e.Type)
	set := e.setByHand()
	switch {
	case e.f.Library == scaled.GPTQModel && input != "":
		e.BreaksAgain = "it loads GPTQ of models of text alone, and the main input of these is " + input
	case set >= 0:
		e.BreaksAgain = "it sets the weight of " + strings.TrimSuffix(e.Weights[set].Name, ".weight") + " by hand while it loads, and codes have none"
	case e.listed && transformers.Renames(e.Type):
		e.BreaksAgain = "it gives weights other names when it loads them, and finds modules by their names"
	}
	return nil
}

// setByHand returns the first quantized weight that the class of the model, or of a model
// inside it, sets while it is loaded; -1 for none. A model inside has its own class for that.
func (e *linearEncoder) setByHand() int {
	types := e.rule.ModelTypes[:min(len(e.rule.ModelTypes), transformers.MostInside)]
	return slices.IndexFunc(e.Weights, func(w QuantizedWeight) bool {
		_, last, _ := transformers.CutLast(strings.TrimSuffix(w.Name, ".weight"))
		return slices.ContainsFunc(types, func(kind string) bool {
			return transformers.SetsByHand(kind, last)
		})
	})
}

// setEach returns the first quantized weight of a model, or of one inside it, whose class sets
// the weights of all linear modules; -1 for none.
func (e *linearEncoder) setEach() int {
	return slices.IndexFunc(e.Weights, func(w QuantizedWeight) bool {
		kind := e.rule.InsideOf(strings.TrimSuffix(w.Name, ".weight"))
		return transformers.SetsEach(kind) || kind == "" && e.rule.Unplaced(transformers.SetsEach)
	})
}

// compressedLoads notes why transformers does not load a format of compressed-tensors by
// default, though it does where it decodes it: once all weights are known.
func (e *linearEncoder) compressedLoads() {
	if e.BreaksAgain != "" || e.fused == nil || e.library != scaled.CompressedTensors || e.format == "fp8" {
		return
	}
	const unless = "; with dequantize=True in its CompressedTensorsConfig it loads"
	if packs := !strings.HasPrefix(e.format, "fp8_") && e.format != "mxfp8" && e.format != "w8a8"; packs {
		if set := e.setByHand(); set >= 0 {
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
	kept := slices.IndexFunc(e.Kept, func(k KeptMatrix) bool { return k.reason == transformers.None || k.reason == transformers.Excluded })
	if kept >= 0 {
		e.BreaksAgain = "it gives modules other names than the file, and looks for codes of " + strings.TrimSuffix(e.Kept[kept].Name, ".weight") + ", which is left alone" + unless
	}
}
