package quant

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/quant/compressed"
	"github.com/anamnesis-go/anamnesis/quant/mlx"
	"github.com/anamnesis-go/anamnesis/quant/modelopt"
	"github.com/anamnesis-go/anamnesis/quant/mxfp4"
)

// A folder is written like the unquantized model of its architecture in transformers
// 5.23. The differences from the file are a list of rewrites, applied in this order: to
// each weight when it is bound, then to the model.
var (
	weightLayouts = []func(*scheme.Set, *Weight) error{
		modelopt.Fold,        // ModelOpt's pre_quant_scale is folded into the weight
		compressed.Unrotated, // refuses weights whose inputs would have to be rotated
		mxfp4.Turn,           // experts of gpt-oss: [E, out, in] to [E, in, out]
		conv1D,               // [out, in] to [in, out]
	}
	modelLayouts = []func(*scheme.Set, *scheme.Bound) error{
		mlx.Restack, // mlx-lm's stacks of gpt-oss and Llama-4 become two parameters
		mlx.Split,   // MLX's stacks of other architectures become one weight per expert
		fuse,        // Llama-4's experts, quantized one by one, become two parameters
	}
)

// layOut applies the rewrites of one weight.
func (s *set) layOut(w *Weight) error {
	for _, rewrite := range weightLayouts {
		if err := rewrite(s.Set, w); err != nil {
			return err
		}
	}
	return nil
}

// layOutModel applies the rewrites of the model, once all weights are bound.
func (s *set) layOutModel(out *Bound) error {
	for _, rewrite := range modelLayouts {
		if err := rewrite(s.Set, out); err != nil {
			return err
		}
	}
	return nil
}

// isConv1D reports whether a module is transformers' Conv1D, whose weight is [in, out], in the model
// or the language model inside it: GPT-2 is the decoder of many others. Quantizers replace it by a
// linear layer, whose weight is the transpose.
func isConv1D(s *scheme.Set, module string) bool {
	c := s.Config.Model
	return slices.ContainsFunc([]string{
		c.Get("model_type").String(), c.Within("text_config").Get("model_type").String(), c.Within("decoder_config").Get("model_type").String(), c.Within("decoder").Get("model_type").String(), c.Within("encoder").Get("model_type").String(),
	}, func(kind string) bool { return transformers.IsConv1D(kind, module) })
}

// conv1D transposes linear layers that replaced a Conv1D.
func conv1D(s *scheme.Set, w *Weight) error {
	if !s.Options.Folder || len(w.Shape) != 2 || !w.Row.Linear {
		return nil
	}
	if !isConv1D(s, strings.TrimSuffix(w.Name, ".weight")) {
		return nil
	}
	return scheme.Flip(w, s.Budget)
}
