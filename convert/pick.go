package convert

import (
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A pick is a tensor or weight to be written, with its place in the source.
type pick struct {
	at     int
	weight *quant.Weight
	plain  tensor.Info

	decided bool // verdict is set: see decide
	verdict encode.Verdict
	encoded bool
}

func (k *pick) name() string {
	if k.weight != nil {
		return k.weight.Name
	}
	return k.plain.Name
}

func (k *pick) shape() []int64 {
	if k.weight != nil {
		return k.weight.Shape
	}
	return k.plain.Shape
}

// part returns the file of the source that it is in.
func (k *pick) part() int32 {
	if k.weight != nil {
		return k.weight.Parts[0].Part
	}
	return k.plain.Part
}
