package scheme

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// A Bound divides the tensors of a model into quantized weights, tensors that are copied
// byte for byte, and scales that the unquantized model does not need.
type Bound struct {
	Weights []*Weight
	Plain   []tensor.Info
	LeftOut []tensor.Info
	Ignored []string // what was decoded in spite of, at the caller's word
}
