package lora

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A kind says which elements of the matrices an element of the weight is computed from.
type kind uint8

const (
	// W[row, col] from B[row, r] and A[r, col]; for each expert if there are several.
	plain kind = iota
	// W[row, col] from A[r, row] and B[col, r]: embeddings, and layers with transposed
	// weights.
	transposed
	// W[row, col] from A[row, r] and B[col, r]: llama.cpp's token embedding.
	rowsOfA
	// W[e, row, col] from B[row, r*E+e] and A[e*R+r, col].
	experts
	// W[e, row, col] from A[e*R+r, row] and B[col, r*E+e].
	expertsTransposed
	// A vector: W[0, col] from B[col].
	vector
)

// A product describes what one adapter adds to one tensor.
type product struct {
	adapter           int
	a, b              tensor.Info
	magnitude         tensor.Info // DoRA's, without a name if there is none
	kind              kind
	batch, rows, cols int64
	rank              int64
	scale             float32
	expert, experts   int64 // the expert whose part of a stack it is, and how many there are: 0 if it is no part
	firstRow          int64 // of the part among the rows of the expert
	roundsSum         bool  // what is added is rounded to the weight's type first
	ofCopy            bool  // it is of the output layer that has the weight of the input
}

// byColumn reports whether the magnitudes are those of columns, not rows.
func (p *product) byColumn() bool { return p.kind == transposed }

// shapeError returns the error for matrices whose product does not have the shape of a weight.
func shapeError(m *module, w *tensor.Info) error {
	return wire.ErrMismatch.Errorf("matrices of shapes %v and %v do not fit the base's weight of shape %v", m.part[partA].Shape, m.part[partB].Shape, w.Shape)
}

// checkRank rejects a rank that differs from that of the configuration.
func checkRank(is, states int64) error {
	if is != states || is <= 0 {
		return wire.ErrMismatch.Errorf("its rank is %d, the configuration states %d", is, states)
	}
	return nil
}

// shape returns the product of a module. Whether a square layer is transposed is decided later,
// by the other layers, which v records.
func (a *adapter) shape(m *module, w *tensor.Info, v *layouts) (*product, error) {
	pa, pb := m.part[partA].Shape, m.part[partB].Shape
	p := &product{a: m.part[partA], b: m.part[partB], magnitude: m.part[partMagnitude], batch: 1, scale: a.scale(m.name, a.Weight)}
	if len(pa) < 2 || len(pb) != len(pa) || len(w.Shape) != len(pa) || slices.Max(append(slices.Clone(pb[2:]), 1)) > 1 {
		return nil, shapeError(m, w)
	}
	p.rank = pa[0]
	if err := checkRank(p.rank, a.rankFor(m.name)); err != nil {
		return nil, err
	}
	out, in := pb[0], elements(pa[1:])
	same := func(shape ...int64) bool { return slices.Equal(w.Shape, shape) }
	switch {
	case pb[1] != p.rank:
		return nil, shapeError(m, w)
	case m.embedding && len(pa) == 2 && same(in, out):
		p.kind, p.rows, p.cols, p.roundsSum = transposed, in, out, true
	case m.embedding:
		return nil, shapeError(m, w)
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
		return nil, shapeError(m, w)
	}
	return p, a.checkMagnitudes(p)
}

// elements returns the product of dimensions, which the parser has checked to fit.
func elements(dims []int64) int64 {
	n, _ := wire.Product(dims)
	return int64(n)
}

// checkMagnitudes rejects magnitudes of the wrong number.
func (a *adapter) checkMagnitudes(p *product) error {
	if p.magnitude.Name == "" {
		return nil
	}
	want := p.rows
	if p.byColumn() {
		want = p.cols
	}
	if n := p.magnitude.Elements(); n != want {
		return wire.ErrMismatch.Errorf("it has %d magnitudes, not %d", n, want)
	}
	return nil
}

// layouts records which layouts the layers of an adapter have, and the square layers.
type layouts struct {
	plain, transposed bool
	square            []square
}

// A square layer may be transposed or not: its shape does not tell.
type square struct {
	*product
	module string
}

// resolveSquare decides which square layers are transposed. PEFT goes by the module's class, which
// depends on the model's type and those of the models in it, whatever fan_in_fan_out says. For a
// model without a type or with custom code, the other layers of the adapter decide, or the
// configuration if there are none.
func (a *adapter) resolveSquare(b *limits.Budget, v *layouts, config jsontree.Value) error {
	if len(v.square) == 0 {
		return nil
	}
	r, err := classes(b, config)
	if err != nil {
		return err
	}
	if v.plain && v.transposed && len(r.Named) == 0 {
		return wire.ErrUnsupported.Errorf("some layers have transposed weights and some do not, so square ones are ambiguous")
	}
	for _, p := range v.square {
		turn, sure := r.Transposed(p.module)
		switch {
		case !sure:
			return wire.ErrUnsupported.Errorf("module %s: of the types in %s one has such a linear module, and another a Conv1D, whose weight is transposed: which of them this is cannot be told", wire.Quote(p.module), baseConfig)
		case len(r.Named) > 0:
		case v.plain != v.transposed:
			turn = v.transposed
		case len(r.ModelTypes) == 0:
			turn = a.transposed
		}
		if turn {
			p.kind = transposed
		}
	}
	return nil
}

// classes returns what is known of the classes of modules by the types in config.json. Named are
// those with modules of class Conv1D, whose weights are transposed.
func classes(b *limits.Budget, config jsontree.Value) (r transformers.Rule, err error) {
	if err := typesIn(b, config, &r); err != nil {
		return r, err
	}
	var architectures []string
	for _, v := range config.Get("architectures").List() {
		if err := b.Step(1); err != nil {
			return r, err
		}
		if len(architectures) < transformers.MostInside {
			architectures = append(architectures, v.String())
		}
	}
	r.Tables(config.Get("model_type").String(), architectures)
	return r, nil
}

func typesIn(b *limits.Budget, v jsontree.Value, r *transformers.Rule) (err error) {
	for m := range v.Members() {
		if err := b.Step(1); err != nil {
			return err
		}
		switch kind := m.Value.String(); {
		case m.Value.Kind == strictjson.Object:
			err = typesIn(b, m.Value, r)
		case m.Name != "model_type" || kind == "":
		default:
			if r.ModelTypes, err = limits.Append(b, r.ModelTypes, kind); err == nil && transformers.HasConv1D(kind) && r.AsksFor(kind) {
				r.Named, err = limits.Append(b, r.Named, kind)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A parameter is a separately adapted tensor of the base.
type parameter struct {
	*tensor.Info
	rank    int64
	scale   float32
	experts int64 // how many matrices it is stacked of, each [out, in]; 0 if it is one tensor
}

// parametersOf returns the parameters that target_parameters names of a module, if it has them:
// a name without that of a module, such as down_proj, is one of every module that has it.
func (a *adapter) parametersOf(module string) (list []string) {
	for _, target := range a.parameters {
		full := module + "." + target[strings.LastIndexByte(target, '.')+1:]
		if (full == target || strings.HasSuffix(full, "."+target)) && !slices.Contains(list, full) {
			list = append(list, full)
		}
	}
	return list
}

// namesModule reports whether target_parameters names a parameter of a module with the module.
func (a *adapter) namesModule(full string) bool {
	return slices.ContainsFunc(a.parameters, func(target string) bool {
		return strings.Contains(target, ".") && (full == target || strings.HasSuffix(full, "."+target))
	})
}

// parametersOf returns the parameters of a module that PEFT adapts: those that target_parameters
// names with the module, and the others that the base has. It is empty for a module whose weight
// is adapted, as all of a file of llama.cpp are.
func (x *binder) parametersOf(a *adapter, module string, r renaming) []string {
	if a.config == nil {
		return nil
	}
	return slices.DeleteFunc(a.parametersOf(module), func(full string) bool { return !a.namesModule(full) && !x.has(x.of(r, full)) })
}
