package encode

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Renames notes that transformers would not find torchao's descriptions of weights.
func (e *Linear) Renames(format string) {
	if strings.HasPrefix(format, "torchao_") && transformers.Renames(e.Type) {
		e.BreaksAgain = "it gives weights other names when it loads them, and looks for torchao's metadata under those"
	}
}

// nameless refuses a model with such a matrix, whose numbers transformers would take for
// codes.
func (e *Linear) nameless() error {
	end, ok := transformers.Unnamed(e.Type)
	if !ok {
		return nil
	}
	for i := range e.Model.Tensors() {
		if err := e.Budget.Step(1); err != nil {
			return err
		}
		if len(i.Shape) == 2 && strings.HasSuffix("/"+i.Name, end) {
			return wire.ErrUnsupported.Errorf("%s of a model of type %s: transformers loads it as the weight of a linear module, and would take its numbers for codes", wire.Quote(i.Name), wire.Quote(e.Type))
		}
	}
	return nil
}
