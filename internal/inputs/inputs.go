// Package inputs is what conversions and merges demand of the models that they are made of.
package inputs

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Plain refuses a model of quantized weights, or of pieces of weights. Those of a GGUF file are its
// types'.
func Plain(b *limits.Budget, m tensor.Model) error {
	if err := Pieces(b, m); err != nil {
		return err
	}
	if m.Format() == gguf.Format || !quant.Any(m) {
		return nil
	}
	b = b.Probe()
	defer b.Close()
	bound, err := quant.Plan(b, m, quant.Options{Target: quant.F32})
	if err == nil && len(bound.Weights) > 0 {
		err = wire.ErrUnsupported.Errorf("the model is quantized (%s): decode it first, and merge the result", bound.Weights[0].Scheme)
	}
	return err
}

// Whole reads an archive once, to hold its members to their checksums: what is
// computed of them is not what is stored.
func Whole(b *limits.Budget, m tensor.Model) error {
	if f := m.Format(); f == safetensors.Format || f == gguf.Format {
		return nil
	}
	return parser.Verify(b, m)
}
