package lora

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// maxParameters is the largest number of adapted parameters of one module.
const maxParameters = 4

var errStackShapes = wire.ErrMismatch.Errorf("the shapes or ranks of the matrices do not fit the base's parameters")

// A nesting says which wrapper of a module is that of which parameter. PEFT goes through the
// parameters of a module in the order in which its class makes them, and wraps the module once
// more for each that is adapted, so the first is innermost.
type nesting struct {
	order   []int // indices of the adapted parameters, the innermost first
	inFirst bool  // each matrix is [in, out]
	known   bool
}

// nestingOf returns the nesting of the wrappers of a module whose adapted parameters have these names.
func (x *binder) nestingOf(module string, parameters []string) (n nesting, err error) {
	e, known := x.expertsOf(module)
	if !known {
		return n, nil
	}
	place := func(i int) int {
		name := parameters[i]
		return slices.Index(e.Parameters, name[strings.LastIndexByte(name, '.')+1:])
	}
	for i := range parameters {
		if err := x.b.Step(1); err != nil || place(i) < 0 {
			return n, err
		}
		n.order = append(n.order, i) // a few, by assignParameters
	}
	slices.SortFunc(n.order, func(i, j int) int { return place(i) - place(j) })
	n.inFirst, n.known = e.InFirst, true
	return n, nil
}

// expertsOf returns what is known of a module of experts of the base's type, or of that of the
// text model in it. It is not known where they differ.
func (x *binder) expertsOf(module string) (e loaders.Experts, known bool) {
	e, known = loaders.ExpertsOf(x.kind, module)
	ofText, has := loaders.ExpertsOf(x.kindOfText, module)
	if known && has && (ofText.InFirst != e.InFirst || !slices.Equal(ofText.Parameters, e.Parameters)) {
		return e, false
	}
	if has {
		e = ofText
	}
	return e, known || has
}

// assignParameters returns the products of a module's adapted parameters, in their order. Where
// the nesting of the wrappers is not known, the shapes must decide which is whose.
func (a *adapter) assignParameters(wrappers []*module, ws []parameter, n nesting) ([]*product, error) {
	if len(wrappers) != len(ws) || len(ws) > maxParameters {
		return nil, wire.ErrMismatch.Errorf("%d of its parameters are adapted, target_parameters names %d", len(wrappers), len(ws))
	}
	var found [][]*product
	for _, outFirst := range []bool{!n.inFirst, n.inFirst} {
		if n.known {
			found = append(found, nested(wrappers, ws, n.order, outFirst)...)
		} else {
			found = append(found, assign(wrappers, ws, outFirst, nil)...)
		}
	}
	distinct := slices.CompactFunc(found, func(x, y []*product) bool { return fmt.Sprint(kinds(x)) == fmt.Sprint(kinds(y)) })
	switch {
	case len(distinct) == 0:
		return nil, errStackShapes
	case len(distinct) > 1 && !n.known:
		return nil, wire.ErrUnsupported.Errorf("the shapes do not determine which parameters are meant, or which dimension is the input: PEFT itself merges it (merge_and_unload)")
	case len(distinct) > 1 && !a.multipliesAsToday(n.inFirst):
		return nil, wire.ErrUnsupported.Errorf("the experts are square, and the PEFT that trained the adapter (peft_version %s) took another dimension for the input than later ones: merge it with that PEFT", wire.Quote(a.version))
	}
	return distinct[0], nil
}

// multipliesAsToday reports whether the PEFT that wrote the adapter took the dimension of a stack
// for the input that PEFT 0.21 takes. Until 0.18, whose first versions do not say theirs, it
// was the first one of each matrix, in 0.19 the first one but of classes that say they are
// transposed, and since 0.20 the first one of those alone.
func (a *adapter) multipliesAsToday(inFirst bool) bool {
	if a.version == "" {
		return inFirst
	}
	major, rest, _ := strings.Cut(a.version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseUint(minor, 10, 16)
	if _, bad := strconv.ParseUint(major, 10, 16); bad != nil || err != nil {
		return false
	}
	return major != "0" || n >= 20 || inFirst && n < 19
}

func kinds(list []*product) (text []string) {
	for _, p := range list {
		text = append(text, fmt.Sprint(p.kind, p.a.Name))
	}
	return text
}

// nested returns the products of wrappers nested in this order of the parameters, none if a shape
// does not fit.
func nested(wrappers []*module, ws []parameter, order []int, outFirst bool) [][]*product {
	inner := slices.SortedFunc(slices.Values(wrappers), func(m, n *module) int { return n.depth - m.depth })
	var list [maxParameters]*product
	for k, i := range order {
		if list[i] = expert(inner[k], ws[i], outFirst); list[i] == nil {
			return nil
		}
	}
	return [][]*product{list[:len(ws)]}
}

// assign returns all assignments of wrappers to tensors, in the order of the tensors.
func assign(wrappers []*module, ws []parameter, outFirst bool, done []*product) [][]*product {
	if len(ws) == len(done) {
		return [][]*product{slices.Clone(done)}
	}
	var all [][]*product
	w := ws[len(done)]
	for _, m := range wrappers {
		if slices.ContainsFunc(done, func(p *product) bool { return p.a.Name == m.part[partA].Name }) {
			continue
		}
		if p := expert(m, w, outFirst); p != nil {
			all = append(all, assign(wrappers, ws, outFirst, append(done, p))...)
		}
	}
	return all
}

// expert returns the product of a wrapper for a parameter, nil if the shapes do not fit.
func expert(m *module, w parameter, outFirst bool) *product {
	pa, pb := m.part[partA].Shape, m.part[partB].Shape
	if len(pa) != 2 || len(pb) != 2 || len(w.Shape) < 2 || len(w.Shape) > 3 {
		return nil
	}
	p := &product{a: m.part[partA], b: m.part[partB], batch: 1, rank: w.rank, scale: w.scale, roundsSum: true}
	n := len(w.Shape)
	p.rows, p.cols = w.Shape[n-2], w.Shape[n-1]
	out, in := p.rows, p.cols
	switch {
	case n == 2: // one matrix is never transposed
		p.kind = plain
	case outFirst || w.Shape[0] == 1: // of one expert PEFT adds the product as it is
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
