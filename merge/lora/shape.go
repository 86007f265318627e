package lora

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A kind says which elements of the two matrices make one of the weight.
type kind uint8

const (
	// W[row, col] of B[row, r] and A[r, col]; of each expert where there are several.
	plain kind = iota
	// W[row, col] of A[r, row] and B[col, r]: embeddings, and layers that keep their
	// weight transposed.
	transposed
	// W[row, col] of A[row, r] and B[col, r]: llama.cpp's token embedding.
	rowsOfA
	// W[e, row, col] of B[row, r*E+e] and A[e*R+r, col].
	experts
	// W[e, row, col] of A[e*R+r, row] and B[col, r*E+e].
	expertsTransposed
	// A vector: W[0, col] of B[col].
	vector
)

// A product is what one adapter adds to one tensor.
type product struct {
	adapter           int
	a, b              tensor.Info
	magnitude         tensor.Info // DoRA's, without a name where there is none
	kind              kind
	batch, rows, cols int64
	rank              int64
	scale             float32
	twice             bool // what is added is rounded to the weight's type first
}

// byColumn reports magnitudes that are those of columns.
func (p *product) byColumn() bool { return p.kind == transposed }

// shapes refuses matrices that do not make a weight.
func shapes(m *module, w *tensor.Info) error {
	return wire.ErrMismatch.Errorf("matrices of %v and %v make no weight of %v, that of the base", m.part[partA].Shape, m.part[partB].Shape, w.Shape)
}

// ranked refuses a rank that is not the one which the configuration states.
func ranked(is, states int64) error {
	if is != states || is <= 0 {
		return wire.ErrMismatch.Errorf("its rank is %d, the configuration says %d", is, states)
	}
	return nil
}

// shape is how the matrices of a module make the base's weight. Square layers are
// transposed if the others are; votes says which were met.
func (a *adapter) shape(m *module, w *tensor.Info, v *votes) (*product, error) {
	pa, pb := m.part[partA].Shape, m.part[partB].Shape
	p := &product{a: m.part[partA], b: m.part[partB], magnitude: m.part[partMagnitude], batch: 1, scale: a.scale(m.name, a.Weight)}
	if len(pa) < 2 || len(pb) != len(pa) || len(w.Shape) != len(pa) || slices.Max(append(slices.Clone(pb[2:]), 1)) > 1 {
		return nil, shapes(m, w)
	}
	p.rank = pa[0]
	if err := ranked(p.rank, a.rankFor(m.name)); err != nil {
		return nil, err
	}
	out, in := pb[0], rest(pa[1:])
	same := func(shape ...int64) bool { return slices.Equal(w.Shape, shape) }
	switch {
	case pb[1] != p.rank:
		return nil, shapes(m, w)
	case m.embedding && len(pa) == 2 && same(in, out):
		p.kind, p.rows, p.cols, p.twice = transposed, in, out, true
	case m.embedding:
		return nil, shapes(m, w)
	case len(pa) > 2 && w.Shape[0] == out && slices.Equal(w.Shape[1:], pa[1:]):
		p.kind, p.rows, p.cols = plain, out, in // a convolution
	case len(pa) == 2 && in == out && same(out, in):
		p.kind, p.rows, p.cols = plain, out, in
		v.square = append(v.square, square{p, m.name})
	case len(pa) == 2 && same(out, in):
		p.kind, p.rows, p.cols = plain, out, in
		v.plain = true
	case len(pa) == 2 && same(in, out):
		p.kind, p.rows, p.cols = transposed, in, out
		v.transposed = true
	default:
		return nil, shapes(m, w)
	}
	return p, a.magnitudes(p)
}

// rest is the product of dimensions, which a parser has proven to fit.
func rest(dims []int64) int64 {
	n, _ := wire.Product(dims)
	return int64(n)
}

// magnitudes refuses a vector of another length.
func (a *adapter) magnitudes(p *product) error {
	if p.magnitude.Name == "" {
		return nil
	}
	want := p.rows
	if p.byColumn() {
		want = p.cols
	}
	if n := p.magnitude.Elements(); n != want {
		return wire.ErrMismatch.Errorf("%d magnitudes for %d", n, want)
	}
	return nil
}

// votes are the layers of one adapter by the order of their dimensions.
type votes struct {
	plain, transposed bool
	square            []square
}

// A square layer is one whose dimensions do not tell.
type square struct {
	*product
	module string
}

// conv1D are the modules of transformers' Conv1D, which keeps its weight transposed,
// by the model_type of config.json.
var conv1D = map[string][]string{
	"gpt2":                 {"c_attn", "q_attn", "c_proj", "c_fc"},
	"imagegpt":             {"c_attn", "q_attn", "c_proj", "c_fc"},
	"decision_transformer": {"c_attn", "q_attn", "c_proj", "c_fc"},
	"openai-gpt":           {"c_attn", "c_proj", "c_fc"},
	"clvp":                 {"c_proj", "c_fc"},
}

// settle decides for square layers. PEFT asks the module's class, which is that of the
// model's type, whatever fan_in_fan_out says. Of a model without a type, and of one with
// code of its own, other layers of the adapter tell, or the configuration where there
// are none.
func (a *adapter) settle(v *votes, modelType string) error {
	if len(v.square) == 0 {
		return nil
	}
	if v.plain && v.transposed && conv1D[modelType] == nil {
		return wire.ErrUnsupported.Errorf("some layers keep their weight transposed and some do not, so nothing tells for square ones")
	}
	for _, p := range v.square {
		turn := slices.Contains(conv1D[modelType], p.module[strings.LastIndexByte(p.module, '.')+1:])
		switch {
		case conv1D[modelType] != nil:
		case v.plain != v.transposed:
			turn = v.transposed
		case modelType == "":
			turn = a.transposed
		}
		if turn {
			p.kind = transposed
		}
	}
	return nil
}

// A parameter is one that is adapted by itself, and the base's tensor.
type parameter struct {
	*tensor.Info
	rank  int64
	scale float32
}

// parametersOf are those of a module that target_parameters names.
func (a *adapter) parametersOf(module string) (list []string) {
	for _, target := range a.parameters {
		full := module + "." + target[strings.LastIndexByte(target, '.')+1:]
		if (full == target || strings.HasSuffix(full, "."+target)) && !slices.Contains(list, full) {
			list = append(list, full)
		}
	}
	return list
}

// maxParameters is how many parameters of one module are told apart.
const maxParameters = 4

// stacked finds which of a module's adapted parameters belongs to which tensor of
// the base: no file says it, the shapes have to.
func stacked(wrappers []*module, ws []parameter) ([]*product, error) {
	if len(wrappers) != len(ws) || len(ws) > maxParameters {
		return nil, wire.ErrMismatch.Errorf("%d of its parameters are adapted, target_parameters names %d", len(wrappers), len(ws))
	}
	var found [][]*product
	for _, swap := range []bool{true, false} {
		var fits []*product
		found = append(found, assign(wrappers, ws, swap, fits)...)
	}
	distinct := slices.CompactFunc(found, func(x, y []*product) bool { return fmt.Sprint(kinds(x)) == fmt.Sprint(kinds(y)) })
	switch len(distinct) {
	case 0:
		return nil, wire.ErrMismatch.Errorf("matrices of other shapes or ranks than the base's parameters")
	case 1:
		return distinct[0], nil
	default:
		return nil, wire.ErrUnsupported.Errorf("shapes do not tell which of its parameters are meant, or which of their dimensions is the input")
	}
}

func kinds(list []*product) (text []string) {
	for _, p := range list {
		text = append(text, fmt.Sprint(p.kind, p.a.Name))
	}
	return text
}

// assign lists the ways in which wrappers fit tensors, in the order of the tensors.
func assign(wrappers []*module, ws []parameter, swap bool, done []*product) [][]*product {
	if len(ws) == len(done) {
		return [][]*product{slices.Clone(done)}
	}
	var all [][]*product
	w := ws[len(done)]
	for _, m := range wrappers {
		if slices.ContainsFunc(done, func(p *product) bool { return p.a.Name == m.part[partA].Name }) {
			continue
		}
		if p := expert(m, w, swap); p != nil {
			all = append(all, assign(wrappers, ws, swap, append(done, p))...)
		}
	}
	return all
}

// expert is how matrices make a parameter, nil where they do not.
func expert(m *module, w parameter, swap bool) *product {
	pa, pb := m.part[partA].Shape, m.part[partB].Shape
	if len(pa) != 2 || len(pb) != 2 || len(w.Shape) < 2 || len(w.Shape) > 3 {
		return nil
	}
	p := &product{a: m.part[partA], b: m.part[partB], batch: 1, rank: w.rank, scale: w.scale, twice: true}
	n := len(w.Shape)
	p.rows, p.cols = w.Shape[n-2], w.Shape[n-1]
	out, in := p.rows, p.cols
	switch {
	case n == 2: // one matrix is never transposed
		p.kind = plain
	case swap:
		p.kind, p.batch = experts, w.Shape[0]
	default:
		p.kind, p.batch = expertsTransposed, w.Shape[0]
		out, in = in, out
	}
	ranks, fits := wire.Mul(uint64(p.rank), uint64(p.batch))
	if !fits || p.rank <= 0 || uint64(pa[0]) != ranks || uint64(pb[1]) != ranks || pa[1] != in || pb[0] != out {
		return nil
	}
	return p
}
