package convert

import (
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/limits"
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

// asBound returns all tensors to be written as they are, if blocks are moved and
// everything else is decoded already. In the other direction, other tensors may still be
// quantized.
func (p *Plan) asBound(infos []tensor.Info) (bound *quant.Bound, moved bool, err error) {
	switch {
	case !p.view.Stays():
		return &quant.Bound{Plain: infos}, false, nil
	case p.view.Told().Bound != nil || p.o.AsIs:
		return &quant.Bound{Plain: infos}, true, nil
	}
	rest, err := p.view.Select(p.b, func(t *model.Tensor) bool { return !t.Stays })
	if err != nil {
		return nil, false, err
	}
	if bound, err = quant.Plan(p.b, rest, p.o.Quant); err != nil {
		return nil, false, err
	}
	for i := range infos {
		if p.view.Tensor(infos[i].Name).Stays {
			if bound.Plain, err = limits.Append(p.b, bound.Plain, infos[i]); err != nil {
				return nil, false, err
			}
		}
	}
	return bound, true, nil
}
