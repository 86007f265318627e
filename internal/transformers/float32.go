package transformers

import (
	_ "embed"
	"sync"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
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
	markFloat32Half = '^' // only in float16
)

var float32Rows = sync.OnceValue(func() map[string]string { return rowsByType(float32Text) })

// Float32s are the parameters of a type that are float32 in memory. Nil has none.
type Float32s struct{ root node }

// Float32sOf returns the parameters of a type.
func Float32sOf(modelType string) *Float32s {
	row := float32Rows()[modelType]
	if row == "" {
		return nil
	}
	f := &Float32s{}
	p := parser{text: row}
	p.list(&f.root)
	return f
}

// Widens reports whether a parameter of a type becomes float32.
func (f *Float32s) Widens(name string, was tensor.DType) bool {
	if f == nil {
		return false
	}
	switch f.root.find(name) {
	case markFloat32:
		return was == tensor.F16 || was == tensor.BF16
	case markFloat32Half:
		return was == tensor.F16
	}
	return false
}
