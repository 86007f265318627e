package encode

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

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
