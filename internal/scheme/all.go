package scheme

import (
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Numbers is one decoded weight. Data belongs to the iterator: it is valid
// until the next weight.
type Numbers struct {
	*Weight
	Data []byte
}

// All decodes the weights of a model one after the other. Memory is charged to the account
// and given back after each. An error ends the iteration.
func (o *Bound) All(b *limits.Budget, m tensor.Model, to Target) iter.Seq2[Numbers, error] {
	return func(yield func(Numbers, error) bool) {
		for _, w := range o.Weights {
			more, err := one(b, m, w, to, yield)
			if err != nil {
				yield(Numbers{Weight: w}, err)
				return
			}
			if !more {
				return
			}
		}
	}
}

func one(b *limits.Budget, m tensor.Model, w *Weight, to Target, yield func(Numbers, error) bool) (more bool, err error) {
	b = b.Probe()
	defer b.Close()
	data, err := Sized[byte](b, w.Size(to))
	if err != nil {
		return false, wire.At("quant", "tensor "+wire.Quote(w.Name), wire.NoOffset, err)
	}
	if err := Decode(b, m, w, data, to); err != nil {
		return false, err
	}
	return yield(Numbers{w, data}, nil), nil
}
