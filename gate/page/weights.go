package page

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A Weight is a quantized weight that several tensors hold. It is written as a list: its name in
// the unquantized model, the scheme, the shape, and the indices of the tensors.
type Weight struct {
	Name, Scheme string
	Shape        []int64
	Tensors      []int
}

// MarshalJSON writes the list.
func (w Weight) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{w.Name, w.Scheme, append([]int64{}, w.Shape...), w.Tensors})
}

// weights adds the weights. A model has none if no scheme explains its quantization, or if the
// account does not pay for the plan of its tensors: they are shown as they are stored.
func (r *Report) weights(b *limits.Budget, m tensor.Model) error {
	if !quant.Any(m) {
		return nil
	}
	account := b.Probe() // what the plan needs is given back
	defer account.Close()
	bound, err := quant.Plan(account, m, quant.Options{})
	if err != nil {
		return b.Context().Err()
	}
	index := map[string]int{}
	if err := b.Items(int64(len(bound.Weights))); err != nil {
		return err
	}
	for _, w := range bound.Weights {
		if len(w.Parts)+len(w.Extra) > 1 {
			for _, p := range slices.Concat(w.Parts, w.Extra) {
				index[p.Name] = -1
			}
		}
	}
	for i, t := range r.Tensors {
		if _, ok := index[t.Name]; ok {
			index[t.Name] = i
		}
	}
	for _, w := range bound.Weights {
		if len(w.Parts)+len(w.Extra) == 1 {
			continue
		}
		one := Weight{Name: wire.Text(w.Name, maxName), Scheme: w.Scheme, Shape: w.Shape}
		for _, p := range slices.Concat(w.Parts, w.Extra) {
			if i := index[p.Name]; i >= 0 && !slices.Contains(one.Tensors, i) {
				one.Tensors = append(one.Tensors, i)
			}
		}
		if len(one.Tensors) == 0 {
			continue
		}
		if r.Weights, err = limits.Append(b, r.Weights, one); err != nil {
			return err
		}
	}
	return nil
}

// maxConfig bounds the configuration that is shown.
const maxConfig = 1 << 20

// config adds what config.json states about the architecture. One that cannot be read, or that the
// account does not pay for, is not shown: the gate judges it.
func (r *Report) config(b *limits.Budget, m tensor.Model) error {
	account := b.Probe()
	defer account.Close()
	top, err := jsontree.Read(account, m.Configs(), "config.json", maxConfig)
	if err != nil {
		return b.Context().Err()
	}
	for _, v := range []jsontree.Value{top, top.Get("text_config")} {
		for member := range v.Members() {
			p := Pair{Key: wire.Text(member.Name, maxName)}
			text := cmp.Or(member.Value.Number(), member.Value.String())
			if text == "" {
				continue
			}
			p.Value = wire.Text(text, maxValue)
			if r.Config, err = limits.Append(b, r.Config, p); err != nil {
				return err
			}
		}
	}
	return nil
}
