package family

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An mlxForm says how mlx-lm's tensors of a row differ from transformers': the effect of its
// model's sanitize.
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

// gateAlone is a router that mlx-lm has as a plain matrix.
var gateAlone = []string{"mlp.gate"}

const scoreBias = "e_score_correction_bias"

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
