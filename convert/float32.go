package convert

import (
	_ "embed"
	"sync"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// float32Text lists by model type the parameters that transformers keeps in float32 in a
// model loaded as float16 or bfloat16: _keep_in_fp32_modules of its classes. It uses the
// types in the file for a folder quantized with bitsandbytes, so the file must have them.
// crosscheck/linears/float32.py generates it.
//
//go:embed float32.txt
var float32Text string

// The marks of parameters in the table.
const (
	markFloat32     = '+' // of models in float16 and in bfloat16
	markFloat32Half = '^' // in float16 alone
)

var float32Rows = sync.OnceValue(func() map[string]string { return rowsByType(float32Text) })

// float32sOf returns the parameters of a type, nil for none.
func float32sOf(modelType string) *linearNode {
	row := float32Rows()[modelType]
	if row == "" {
		return nil
	}
	root := &linearNode{}
	p := linearParser{text: row}
	p.list(root)
	return root
}

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

func (e *bnbEncoder) widens(name string, was tensor.DType) bool {
	switch e.float32s.find(name) {
	case markFloat32:
		return was == tensor.F16 || was == tensor.BF16
	case markFloat32Half:
		return was == tensor.F16
	}
	return false
}

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
