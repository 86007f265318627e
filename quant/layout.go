package quant

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/scheme"
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

// conv1DModules are the Conv1D modules of transformers by model_type. Their weight is
// [in, out]; quantizers replace them by linear layers, whose weight is the transpose.
var conv1DModules = map[string][]string{
	"gpt2":                 {"c_attn", "q_attn", "c_proj", "c_fc"},
	"imagegpt":             {"c_attn", "q_attn", "c_proj", "c_fc"},
	"decision_transformer": {"c_attn", "q_attn", "c_proj", "c_fc"},
	"openai-gpt":           {"c_attn", "c_proj", "c_fc"},
	"gpt-sw3":              {"c_attn", "q_attn", "c_proj", "c_fc"},
	"clvp":                 {"c_proj", "c_fc"},
	"clvp_decoder":         {"c_proj", "c_fc"},
}

// isConv1D reports whether the model, or the language model inside it, has Conv1D modules of a
// name: GPT-2 is the decoder of many others.
func isConv1D(s *scheme.Set, last string) bool {
	c := s.Config.Model
	return slices.ContainsFunc([]string{
		c.Get("model_type").String(), c.Within("text_config").Get("model_type").String(), c.Within("decoder_config").Get("model_type").String(), c.Within("decoder").Get("model_type").String(), c.Within("encoder").Get("model_type").String(),
	}, func(kind string) bool { return slices.Contains(conv1DModules[kind], last) })
}

// conv1D transposes linear layers that replaced a Conv1D.
func conv1D(s *scheme.Set, w *Weight) error {
	if !s.Options.Folder || len(w.Shape) != 2 || !w.Row.Linear {
		return nil
	}
	module := strings.TrimSuffix(w.Name, ".weight")
	if !isConv1D(s, module[strings.LastIndexByte(module, '.')+1:]) {
		return nil
	}
	return scheme.Flip(w, s.Budget)
}
