package forms

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// MLX converts a model to mlx-lm's form.
type MLX struct {
	// Quant says how quantized weights are read, and the type they are decoded to.
	Quant quant.Options
}

// Model returns a model in the form of mlx-lm: with the names of transformers, and the
// experts of a layer as one tensor. A GGUF file of llama.cpp is first converted to
// transformers' form. The result owns m. The target, if not nil, is the type to which
// mlx-lm casts all numbers, but for a few that keep theirs whatever Options.Cast says.
func (o MLX) Model(b *limits.Budget, m tensor.Model) (tensor.Model, *quant.Target, error) {
	r, casts, err := o.model(b, m)
	if err != nil {
		return nil, nil, wire.At("convert", "", wire.NoOffset, err)
	}
	if casts == tensor.Unknown {
		return r, nil, nil
	}
	to := targetOf(casts)
	return r, &to, nil
}

func (o MLX) model(b *limits.Budget, m tensor.Model) (_ *model.Model, casts tensor.DType, err error) {
	facts := model.Facts{Made: true, Wide: family.Wide, Parameters: parameters}
	fromGGUF := m.Format() == gguf.Format
	if fromGGUF {
		r, err := (Transformers{Target: o.Quant.Target}).model(b, m)
		if err != nil {
			return nil, casts, err
		}
		m, facts.Unmade = r, r.Unmade
	} else if !Stated(m) {
		return nil, casts, wire.ErrUnsupported.Errorf("a folder for mlx-lm is made only from a GGUF file or a folder of transformers: there is no config.json")
	}
	files := m.Configs()
	if !fromGGUF && quant.Any(m) {
		d, err := model.Decode(b, m, o.Quant)
		if err != nil {
			return nil, casts, err
		}
		m, facts.Bound = d, d.Bound
	}
	plan, err := family.ToMLX(b, m)
	if slices.Contains(wire.OptionsOf(err), wire.OptionRawNames) { // which is no way to mlx-lm
		err = wire.At(encode.ConfigName, "", wire.NoOffset, wire.ErrUnsupported.Errorf("the form that mlx-lm gives models of this architecture is not known here, and only targets of other libraries can be written"))
	}
	if err != nil {
		return nil, casts, err
	}
	out, err := formed{safetensors.Format, plan.Tensors, []family.Key{{Key: "format", Value: "mlx"}}, files}.of(b, m)
	if err != nil {
		return nil, casts, err
	}
	facts.Rules = &model.Rules{Library: "mlx-lm", Casts: plan.Casts, Stays: plan.Stays, Eight: plan.Eight}
	out.Facts = facts
	return out, plan.DType, nil
}

// ofMLX reports whether a folder is mlx-lm's.
func ofMLX(m tensor.Model) bool {
	if m.Format() != safetensors.Format || !Stated(m) {
		return false
	}
	for k, v := range m.Meta() {
		if k == "format" && v == "mlx" {
			return true
		}
	}
	return false
}

// unstacked returns a model of mlx-lm with separate experts, as in transformers; other
// models are returned as they are.
func unstacked(b *limits.Budget, m tensor.Model) (tensor.Model, error) {
	if otherwise := ofMLX(m) && family.Otherwise(b, m); !otherwise && !family.Stacked(m) || quant.Any(m) { // stacks of codes are separated when they are decoded
		return m, nil
	}
	list, err := family.FromMLX(b, m)
	if err != nil {
		return nil, err
	}
	out, err := formed{safetensors.Format, list, []family.Key{{Key: "format", Value: "pt"}}, m.Configs()}.of(b, m)
	if err != nil {
		return nil, err
	}
	out.Made = true
	return out, nil
}

// parameters counts the numbers of a model as mlx-lm does: those that words and scales
// stand for, in modules that contain no other module.
func parameters(b *limits.Budget, m tensor.Model) (n int64, err error) {
	holds := map[string]bool{} // modules that contain another
	for i := range m.Tensors() {
		module := moduleOf(i.Name)
		for module != "" {
			if module = moduleOf(module); module == "" || holds[module] {
				break
			}
			if err := b.Hold(int64(len(module)) + 64); err != nil {
				return 0, err
			}
			holds[module] = true
		}
	}
	for i := range m.Tensors() {
		if !holds[moduleOf(i.Name)] {
			n += i.Elements()
		}
	}
	return n, nil
}

// moduleOf returns the part of a name before the last dot.
func moduleOf(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return ""
}
