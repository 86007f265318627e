package family

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Families whose tensors differ between mlx-lm and transformers.

// An mlxForm says how mlx-lm's tensors of a row differ from transformers': what sanitize
// of its model does.
type mlxForm struct {
	// names are mlx-lm's names within a layer, by llama.cpp's. A tensor that transformers
	// has inside another one is taken out of it.
	names map[string]string
	// views are tensors that only mlx-lm splits, by llama.cpp's name of the whole. Their
	// names are mlx-lm's.
	views map[string][]view
	joins map[string]func(c *config, of []tensor.Info, shape []int64) []Part // the inverse
	// stacks is the name of the module of experts.
	stacks string
	// shapes are mlx-lm's shapes, by llama.cpp's name, if they differ. The order of elements
	// is the same.
	shapes map[string]func(*config) []int64
	// skips reports a tensor that mlx-lm omits.
	skips func(c *config, at *location) bool
	// normsPlusOne says that the weights of norms are stored plus one.
	normsPlusOne bool
	// visionPrefix is the prefix of all names if there is a vision part, which is omitted.
	visionPrefix string
	// castExcept are suffixes of tensors that are not cast, quantizeExcept of modules that
	// are not quantized.
	castExcept, quantizeExcept []string
	// lossy says that transformers needs tensors that are omitted.
	lossy bool
	// needsVision says that mlx-lm has the family only with a vision part, which is omitted.
	needsVision bool
}

// kernels returns the shape of a convolution, with a last dimension of 1.
func kernels(rows, cols size) func(*config) []int64 {
	return func(c *config) []int64 { return []int64{rows(c), cols(c), 1} }
}

// dropMTP omits layers that predict further tokens.
func dropMTP(c *config, at *location) bool { return !at.outer && isMTPLayer(c, at.layer) }

// gateAlone is a router that mlx-lm has as a plain matrix.
var gateAlone = []string{"mlp.gate"}

const scoreBias = "e_score_correction_bias"

// latentMLX has the two parts of kv_b_proj as llama.cpp has them.
var latentMLX = map[string]string{"attn_k_b": "self_attn.embed_q", "attn_v_b": "self_attn.unembed_out"}

var (
	mlxDeepseek3  = &mlxForm{names: latentMLX, castExcept: []string{scoreBias}, quantizeExcept: gateAlone}
	mlxGLMLite    = &mlxForm{names: latentMLX, skips: dropMTP, castExcept: []string{scoreBias}, quantizeExcept: gateAlone}
	mlxGLM        = &mlxForm{skips: dropMTP, castExcept: []string{scoreBias}, quantizeExcept: gateAlone}
	mlxGraniteMoe = &mlxForm{names: map[string]string{
		"ffn_gate_exps": "block_sparse_moe.switch_mlp.gate_proj", "ffn_up_exps": "block_sparse_moe.switch_mlp.up_proj", "ffn_down_exps": "block_sparse_moe.switch_mlp.down_proj",
	}}
	mlxGranite4 = &mlxForm{names: map[string]string{
		"ffn_gate_exps": "block_sparse_moe.switch_mlp.gate_proj", "ffn_up_exps": "block_sparse_moe.switch_mlp.up_proj", "ffn_down_exps": "block_sparse_moe.switch_mlp.down_proj",
		"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
	}, shapes: map[string]func(*config) []int64{"ssm_conv1d": kernels(SSMConv, SSMKernel)}}
	mlxNemotronH = &mlxForm{names: map[string]string{"ffn_up_exps": "mixer.switch_mlp.fc1", "ffn_down_exps": "mixer.switch_mlp.fc2"},
		shapes: map[string]func(*config) []int64{"ssm_conv1d": kernels(SSMConv, SSMKernel)}, castExcept: []string{scoreBias, "A_log"}, quantizeExcept: []string{"mixer.gate"}}
	mlxOss = &mlxForm{names: map[string]string{
		"ffn_gate_exps": "mlp.experts.gate_proj", "ffn_up_exps": "mlp.experts.up_proj", "ffn_down_exps": "mlp.experts.down_proj",
		"ffn_gate_exps.bias": "mlp.experts.gate_proj.bias", "ffn_up_exps.bias": "mlp.experts.up_proj.bias", "ffn_down_exps.bias": "mlp.experts.down_proj.bias",
	}}
	mlxLlama4 = &mlxForm{visionPrefix: "language_model.", needsVision: true, names: map[string]string{
		"ffn_gate_exps": "feed_forward.experts.gate_proj", "ffn_up_exps": "feed_forward.experts.up_proj", "ffn_down_exps": "feed_forward.experts.down_proj",
	}}
	mlxGemma4 = &mlxForm{visionPrefix: "language_model.", names: map[string]string{"ffn_down_exps.weight": "experts.switch_glu.down_proj"},
		views: map[string][]view{"ffn_gate_up_exps.weight": {mlxHalf("experts.switch_glu.gate_proj", 0), mlxHalf("experts.switch_glu.up_proj", 1)}},
		joins: map[string]func(*config, []tensor.Info, []int64) []Part{"ffn_gate_up_exps.weight": halves},
		skips: func(c *config, at *location) bool {
			return !at.outer && sharesKV(c, at.layer) && strings.HasPrefix(at.name.gguf, "attn_") && strings.Contains("attn_k attn_v attn_k_norm", at.name.gguf)
		}}
	mlxNext    = &mlxForm{normsPlusOne: true, skips: dropMTP, shapes: map[string]func(*config) []int64{"ssm_conv1d": kernels(LinearQKV, LinearKernel)}}
	mlx35      = &mlxForm{normsPlusOne: true, skips: dropMTP, visionPrefix: "language_model.", needsVision: true, shapes: mlxNext.shapes, castExcept: []string{"A_log"}}
	mlxLFM2    = &mlxForm{shapes: map[string]func(*config) []int64{"shortconv.conv": kernels(Hidden, ShortKernel)}, castExcept: []string{"expert_bias"}}
	mlxLFM2Moe = &mlxForm{shapes: mlxLFM2.shapes, castExcept: mlxLFM2.castExcept,
		names: map[string]string{"ffn_gate": "feed_forward.gate_proj", "ffn_up": "feed_forward.up_proj", "ffn_down": "feed_forward.down_proj"}}
	mlxERNIE     = &mlxForm{lossy: true, skips: func(_ *config, at *location) bool { return strings.HasPrefix(at.name.gguf, "exp_probs_b") }}
	mlxDots      = &mlxForm{stacks: "mlp.experts.", quantizeExcept: gateAlone}
	mlxDeepseek2 = &mlxForm{quantizeExcept: gateAlone}
	mlxPlain     = &mlxForm{}
)

// mlxHalf returns the view of one of two consecutive matrices of each expert.
func mlxHalf(name string, first int64) view {
	return view{
		gguf:  name,
		shape: func(c *config) []int64 { return []int64{c.experts(), ExpertFFN(c), c.hidden()} },
		strides: func(c *config) ([]int64, int64) {
			one := ExpertFFN(c) * c.hidden()
			return []int64{2 * one, c.hidden(), 1}, first * one
		},
	}
}

// ownName returns mlx-lm's own name of a tensor within its layer; ok is false if it is
// transformers'.
func (f *mlxForm) ownName(at *location) (own string, ok bool) {
	switch {
	case f == nil:
		return "", false
	case at.name.views == nil:
		own, ok = f.names[at.name.gguf]
	default:
		g := at.name.views[at.view].gguf
		if own, ok = f.names[g]; !ok && f.views[at.name.gguf] != nil {
			own, ok = g, true
		}
	}
	return own, ok
}

// viewsOf returns the views that mlx-lm splits a tensor into, none if it is kept whole.
func (f *mlxForm) viewsOf(n *mapping) []view {
	switch {
	case f == nil:
		return nil
	case f.views[n.gguf] != nil:
		return f.views[n.gguf]
	case len(n.views) == 0:
		return nil
	}
	for i := range n.views {
		if _, ok := f.names[n.views[i].gguf]; !ok {
			return nil
		}
	}
	return n.views
}

// nameOf returns the name in mlx-lm.
func (f *mlxForm) nameOf(c *config, at *location) string {
	layer := strings.ReplaceAll(c.row.layer, "#", itoa(at.layer))
	full := ""
	switch own, ok := f.ownName(at); {
	case ok && at.bias:
		full = layer + own + ".bias"
	case ok && strings.HasSuffix(own, ".bias"):
		full = layer + own
	case ok:
		full = layer + own + ".weight"
	case at.name.op == stack && f != nil && f.stacks != "":
		_, matrix, _ := strings.Cut(at.name.hf, "experts.*.")
		full = layer + f.stacks + matrix + ".weight"
	case at.name.op == stack:
		full = layer + stackName(at.name.hf) + ".weight"
	default:
		full = at.hfName(c)
	}
	if f != nil && c.root.Get("vision_config").There {
		return f.visionPrefix + full
	}
	return full
}

// shape returns mlx-lm's shape of a tensor that it keeps whole.
func (f *mlxForm) shape(c *config, at *location, shape []int64) []int64 {
	if f == nil || at.bias {
		return shape
	}
	g := at.name.gguf
	if len(at.name.views) > 0 {
		g = at.name.views[0].gguf
	}
	if own := f.shapes[g]; own != nil {
		return own(c)
	}
	return shape
}

// casts reports whether a tensor gets the type that config.json names.
func (f *mlxForm) casts(i *tensor.Info) bool { return f == nil || !endsIn(i.Name, f.castExcept) }

// stays reports a module that is not quantized.
func (f *mlxForm) stays(module string) bool { return f != nil && endsIn(module, f.quantizeExcept) }

func endsIn(name string, list []string) bool {
	return slices.ContainsFunc(list, func(end string) bool { return strings.HasSuffix(name, end) })
}

// isSplit reports a tensor that is split, as llama.cpp or as mlx-lm does.
func (p *planner) isSplit(at *location) bool {
	if !p.asIs {
		return len(at.name.views) > 0
	}
	list := p.form.viewsOf(at.name)
	if list == nil {
		return false
	}
	own := *at.name
	if own.views = list; p.form.joins[own.gguf] != nil {
		own.join = p.form.joins[own.gguf]
	}
	at.name = &own
	return true
}
