package convert

import (
	_ "embed"
	"sync"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// float32Text says of types of transformers which parameters are float32 in a model
// that is loaded in float16 or bfloat16: _keep_in_fp32_modules of its classes. Of a
// folder that bitsandbytes quantized transformers takes the types of the file, so
// the file has to have them. crosscheck/linears/float32.py makes the table.
//
//go:embed float32.txt
var float32Text string

// What the table says of a parameter.
const (
	markFloat32     = '+' // of models in float16 and in bfloat16
	markFloat32Half = '^' // in float16 alone
)

var float32Rows = sync.OnceValue(func() map[string]string { return rowsByType(float32Text) })

// float32sOf finds the parameters of a type, nil for none.
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

// A widener knows tensors that become float32 where all else keeps its type.
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

// isFloat32 reports a weight that transformers makes float32 before it quantizes it all
// the same, as the router of longcat_flash: its quant_state says so.
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
