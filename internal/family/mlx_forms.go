package family

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Families whose tensors mlx-lm has otherwise than transformers: what sanitize of its model
// makes of them.

// An mlxForm is what mlx-lm does with the tensors of a row.
type mlxForm struct {
	// names are those of tensors of mlx-lm within a layer, by what llama.cpp calls them.
	// One that transformers has in a tensor with others is taken out of it.
	names map[string]string
	// views are tensors that only mlx-lm takes apart, by what llama.cpp calls the whole:
	// their names are mlx-lm's.
	views map[string][]view
	joins map[string]func(c *config, of []tensor.Info, shape []int64) []Part // the way back
	// stacks is the name of the module of experts.
	stacks string
	// shapes are those of tensors that mlx-lm has in another shape, by what llama.cpp calls
	// them; their elements follow each other as before.
	shapes map[string]func(*config) []int64
	// drops reports a tensor that mlx-lm leaves out.
	drops func(c *config, at *place) bool
	// added says that norms are stored plus one.
	added bool
	// visual stands before all names where there is a vision part, which is left out.
	visual string
	// kept are endings of tensors that are not cast, whole of modules that are not
	// quantized.
	kept, whole []string
	// loses says that what is dropped is needed in transformers.
	loses bool
	// seen says that mlx-lm has the family with a vision part alone, which it leaves out.
	seen bool
}

// kernels are the shape of convolutions, with a dimension of one behind the others.
func kernels(rows, cols byte) func(*config) []int64 {
	return func(c *config) []int64 { return []int64{dims[rows](c), dims[cols](c), 1} }
}

// leavesAhead leaves out layers that predict further tokens.
func leavesAhead(c *config, at *place) bool { return !at.outer && predicts(c, at.layer) }

// gateAlone is a router that mlx-lm has as a bare matrix.
var gateAlone = []string{"mlp.gate"}

const scoreBias = "e_score_correction_bias"

// latentApart has the two parts of kv_b_proj as llama.cpp has them.
var latentApart = map[string]string{"attn_k_b": "self_attn.embed_q", "attn_v_b": "self_attn.unembed_out"}

var (
	mlxDeepseek3  = &mlxForm{names: latentApart, kept: []string{scoreBias}, whole: gateAlone}
	mlxGLMLite    = &mlxForm{names: latentApart, drops: leavesAhead, kept: []string{scoreBias}, whole: gateAlone}
	mlxGLM        = &mlxForm{drops: leavesAhead, kept: []string{scoreBias}, whole: gateAlone}
	mlxGraniteMoe = &mlxForm{names: map[string]string{
		"ffn_gate_exps": "block_sparse_moe.switch_mlp.gate_proj", "ffn_up_exps": "block_sparse_moe.switch_mlp.up_proj", "ffn_down_exps": "block_sparse_moe.switch_mlp.down_proj",
	}}
	mlxGranite4 = &mlxForm{names: map[string]string{
		"ffn_gate_exps": "block_sparse_moe.switch_mlp.gate_proj", "ffn_up_exps": "block_sparse_moe.switch_mlp.up_proj", "ffn_down_exps": "block_sparse_moe.switch_mlp.down_proj",
		"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
	}, shapes: map[string]func(*config) []int64{"ssm_conv1d": kernels('L', 'u')}}
	mlxNemotronH = &mlxForm{names: map[string]string{"ffn_up_exps": "mixer.switch_mlp.fc1", "ffn_down_exps": "mixer.switch_mlp.fc2"},
		shapes: map[string]func(*config) []int64{"ssm_conv1d": kernels('L', 'u')}, kept: []string{scoreBias, "A_log"}, whole: []string{"mixer.gate"}}
	mlxOss = &mlxForm{names: map[string]string{
		"ffn_gate_exps": "mlp.experts.gate_proj", "ffn_up_exps": "mlp.experts.up_proj", "ffn_down_exps": "mlp.experts.down_proj",
		"ffn_gate_exps.bias": "mlp.experts.gate_proj.bias", "ffn_up_exps.bias": "mlp.experts.up_proj.bias", "ffn_down_exps.bias": "mlp.experts.down_proj.bias",
	}}
	mlxLlama4 = &mlxForm{visual: "language_model.", seen: true, names: map[string]string{
		"ffn_gate_exps": "feed_forward.experts.gate_proj", "ffn_up_exps": "feed_forward.experts.up_proj", "ffn_down_exps": "feed_forward.experts.down_proj",
	}}
	mlxGemma4 = &mlxForm{visual: "language_model.", names: map[string]string{"ffn_down_exps.weight": "experts.switch_glu.down_proj"},
		views: map[string][]view{"ffn_gate_up_exps.weight": {mlxHalf("experts.switch_glu.gate_proj", 0), mlxHalf("experts.switch_glu.up_proj", 1)}},
		joins: map[string]func(*config, []tensor.Info, []int64) []Part{"ffn_gate_up_exps.weight": halves},
		drops: func(c *config, at *place) bool {
			return !at.outer && borrows(c, at.layer) && strings.HasPrefix(at.name.gguf, "attn_") && strings.Contains("attn_k attn_v attn_k_norm", at.name.gguf)
		}}
	mlxNext    = &mlxForm{added: true, drops: leavesAhead, shapes: map[string]func(*config) []int64{"ssm_conv1d": kernels('B', 'J')}}
	mlx35      = &mlxForm{added: true, drops: leavesAhead, visual: "language_model.", seen: true, shapes: mlxNext.shapes, kept: []string{"A_log"}}
	mlxLFM2    = &mlxForm{shapes: map[string]func(*config) []int64{"shortconv.conv": kernels('H', 'C')}, kept: []string{"expert_bias"}}
	mlxLFM2Moe = &mlxForm{shapes: mlxLFM2.shapes, kept: mlxLFM2.kept,
		names: map[string]string{"ffn_gate": "feed_forward.gate_proj", "ffn_up": "feed_forward.up_proj", "ffn_down": "feed_forward.down_proj"}}
	mlxERNIE     = &mlxForm{loses: true, drops: func(_ *config, at *place) bool { return strings.HasPrefix(at.name.gguf, "exp_probs_b") }}
	mlxDots      = &mlxForm{stacks: "mlp.experts.", whole: gateAlone}
	mlxDeepseek2 = &mlxForm{whole: gateAlone}
	mlxPlain     = &mlxForm{}
)

// mlxHalf is one of two matrices of each expert that stand one after the other.
func mlxHalf(name string, first int64) view {
	return view{
		gguf:  name,
		shape: func(c *config) []int64 { return []int64{c.experts(), dims['M'](c), c.hidden()} },
		strides: func(c *config) ([]int64, int64) {
			one := dims['M'](c) * c.hidden()
			return []int64{2 * one, c.hidden(), 1}, first * one
		},
	}
}

// within is the name of a tensor within its layer that mlx-lm has of its own, and whether
// the whole is to be taken apart.
func (f *mlxForm) within(at *place) (own string, ok bool) {
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

// parts are the views that a tensor is taken apart by, none where it stays whole.
func (f *mlxForm) parts(n *name) []view {
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

// named is the name that mlx-lm has.
func (f *mlxForm) named(c *config, at *place) string {
	layer := strings.ReplaceAll(c.row.layer, "#", itoa(at.layer))
	full := ""
	switch own, ok := f.within(at); {
	case ok && at.bias:
		full = layer + own + ".bias"
	case ok && strings.HasSuffix(own, ".bias"):
		full = layer + own
	case ok:
		full = layer + own + ".weight"
	case at.name.how == stack && f != nil && f.stacks != "":
		_, matrix, _ := strings.Cut(at.name.hf, "experts.*.")
		full = layer + f.stacks + matrix + ".weight"
	case at.name.how == stack:
		full = layer + stackName(at.name.hf) + ".weight"
	default:
		full = at.original(c)
	}
	if f != nil && c.root.Get("vision_config").There {
		return f.visual + full
	}
	return full
}

// shape is what mlx-lm has of a tensor that it keeps whole.
func (f *mlxForm) shape(c *config, at *place, shape []int64) []int64 {
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

// casts reports a tensor that gets the type that config.json names.
func (f *mlxForm) casts(i *tensor.Info) bool { return f == nil || !endsIn(i.Name, f.kept) }

// stays reports a module that is not quantized.
func (f *mlxForm) stays(module string) bool { return f != nil && endsIn(module, f.whole) }

func endsIn(name string, list []string) bool {
	return slices.ContainsFunc(list, func(end string) bool { return strings.HasSuffix(name, end) })
}

// comesApart reports a tensor that becomes several, as llama.cpp has them or mlx-lm does.
func (p *planner) comesApart(at *place) bool {
	if !p.asIs {
		return len(at.name.views) > 0
	}
	list := p.form.parts(at.name)
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
