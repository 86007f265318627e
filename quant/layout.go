package quant

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A folder is written like the unquantized model of its architecture in transformers
// 5.23. The differences from the file are a list of rewrites, applied in this order: to
// each weight when it is bound, then to the model.
var (
	weightLayouts = []func(*set, *Weight) error{
		(*set).fold,         // ModelOpt's pre_quant_scale is folded into the weight
		(*set).unrotated,    // refuses weights whose inputs would have to be rotated
		(*set).gptOSSExpert, // [E, out, in] to [E, in, out]
		(*set).conv1D,       // [out, in] to [in, out]
	}
	modelLayouts = []func(*set, *Bound) error{
		(*set).restack, // mlx-lm's stacks of gpt-oss and Llama-4 become two parameters
		(*set).split,   // MLX's stacks of other architectures become one weight per expert
		(*set).fuse,    // Llama-4's experts, quantized one by one, become two parameters
	}
)

// layOut applies the rewrites of one weight.
func (s *set) layOut(w *Weight) error {
	for _, rewrite := range weightLayouts {
		if err := rewrite(s, w); err != nil {
			return err
		}
	}
	return nil
}

// layOutModel applies the rewrites of the model, once all weights are bound.
func (s *set) layOutModel(out *Bound) error {
	for _, rewrite := range modelLayouts {
		if err := rewrite(s, out); err != nil {
			return err
		}
	}
	return nil
}

// architecture returns the model_type of config.json, or of the language model in it.
func (s *set) architecture() string {
	if t := s.Config.Model.At("text_config").Text("model_type"); t != "" {
		return t
	}
	return s.Config.Model.Text("model_type")
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
func (s *set) isConv1D(last string) bool {
	c := s.Config.Model
	return slices.ContainsFunc([]string{
		c.Text("model_type"), c.At("text_config").Text("model_type"), c.At("decoder_config").Text("model_type"), c.At("decoder").Text("model_type"), c.At("encoder").Text("model_type"),
	}, func(kind string) bool { return slices.Contains(conv1DModules[kind], last) })
}

// unrotated refuses weights that compressed-tensors stores rotated, since the unquantized
// model does not rotate its inputs.
func (s *set) unrotated(w *Weight) error {
	if !s.Options.Folder || len(w.Shape) < 2 || len(s.Config.Quant.At("transform_config", "config_groups").Names()) == 0 {
		return nil
	}
	return wire.ErrUnsupported.Errorf("%s says transform_config: the weights are stored rotated, and the unquantized model would not rotate its inputs; remember the file, not the folder",
		s.Config.File)
}

// gptOSSExpert transposes the experts of gpt-oss.
func (s *set) gptOSSExpert(w *Weight) error {
	stem, blocks := strings.CutSuffix(w.Parts[0].Name, "_blocks")
	if !s.Options.Folder || len(w.Shape) < 2 || !blocks || stem != w.Name {
		return nil
	}
	return scheme.Flip(w, s.Budget)
}

// conv1D transposes linear layers that replaced a Conv1D.
func (s *set) conv1D(w *Weight) error {
	if !s.Options.Folder || len(w.Shape) != 2 || !w.Row.Linear {
		return nil
	}
	module := strings.TrimSuffix(w.Name, ".weight")
	if !s.isConv1D(module[strings.LastIndexByte(module, '.')+1:]) {
		return nil
	}
	return scheme.Flip(w, s.Budget)
}
