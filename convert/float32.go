package convert

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A widener knows which tensors become float32 while the others keep their type.
type widener interface {
	widens(name string, was tensor.DType) bool
	widened(name string, was tensor.DType) error
}

// A WidenedTensor is stored as float32 because transformers computes with it in float32.
type WidenedTensor struct {
	Name string
	From tensor.DType
}

func (e *bnbEncoder) widens(name string, was tensor.DType) bool { return e.float32s.Widens(name, was) }

// isFloat32 reports whether transformers converts a weight to float32 and then quantizes
// it, like the router of longcat_flash, so that its quant_state says float32.
func (e *bnbEncoder) isFloat32(w *quant.Weight) bool {
	d, rounds := e.computed(w)
	if rounds {
		return e.widens(w.Name, e.target.DType())
	}
	return d != asm.F32 && e.widens(w.Name, w.Parts[0].DType)
}

func (e *bnbEncoder) widened(name string, was tensor.DType) (err error) {
	e.Widened, err = limits.Append(e.b, e.Widened, WidenedTensor{name, was})
	return err
}
