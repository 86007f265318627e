package convert

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
)

// blockNames are the prefixes by which optimum finds the blocks of a model when
// transformers loads GPTQ: it takes all linear modules below the first of these that is a
// prefix of a module (optimum 2.3.0, gptq/constants.py), unless the configuration lists
// them.
var blockNames = [...]string{"transformer.h", "model.decoder.layers", "gpt_neox.layers", "model.layers", "model.language_model.layers", "h", "decoder.layers", "layers"}

// takesOthers reports whether optimum would take other modules than the quantized ones.
func (e *groupedEncoder) takesOthers() (bool, error) {
	var has [len(blockNames)]bool
	for i := range e.Model.Tensors() {
		if err := e.Budget.Step(int64(len(blockNames))); err != nil {
			return false, err
		}
		for k, begin := range blockNames {
			has[k] = has[k] || strings.HasPrefix(i.Name, begin)
		}
	}
	at := slices.Index(has[:], true)
	if at < 0 {
		return true, nil
	}
	begins := func(name string) bool { return strings.HasPrefix(name, blockNames[at]) }
	return slices.ContainsFunc(e.Weights, func(w encode.QuantizedWeight) bool { return !begins(w.Name) }) ||
		slices.ContainsFunc(e.Kept, func(k encode.KeptMatrix) bool { return begins(k.Name) }), nil
}

// putBlocks lists the quantized modules as one block that is the whole model. vLLM reads
// the list the same way.
func (e *groupedEncoder) putBlocks(w *jsontree.Text) {
	w.Put(",\n  \"modules_in_block_to_quantize\": [\n    [")
	for i := range e.Weights {
		if i > 0 {
			w.Put(",")
		}
		w.Put("\n      ")
		w.Quote(strings.TrimSuffix(e.Weights[i].Name, ".weight"))
	}
	w.Put("\n    ]\n  ]")
}
