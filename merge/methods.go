package merge

import (
	"maps"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A parameter is a parameter of a method.
type parameter struct {
	name     string
	shared   bool // it is set for the result, not for each model
	isBool   bool // true or false
	required bool
	fallback float64 // where nothing sets it
}

// A method is a way to merge.
type method struct {
	name      string
	needsBase bool
	sources   [2]int // fewest and most, 0 for any
	params    []parameter
	sparse    sparsity
	elect     bool // only terms with the sign of their sum count, as in TIES

	differences bool // it adds differences from the base, in several steps
	compute     func(*group, *buffers, int64)
	prepare     func(*group, *work) ([]phase, error) // phases over whole tensors; nil for none
}

// A sparsity says which numbers of a difference are kept.
type sparsity uint8

const (
	keepAll sparsity = iota
	keepLargest
	keepRandom
)

func weight(required bool) parameter { return parameter{name: "weight", required: required} }

// differenceMethod returns a method that adds differences from the base.
func differenceMethod(name string, sparse sparsity, elect, normalize, rescale bool) method {
	m := method{name: name, needsBase: true, differences: true, sparse: sparse, elect: elect, compute: (*group).differences, params: []parameter{
		weight(true), {name: "normalize", shared: true, isBool: true, fallback: boolNumber(normalize)}, {name: "lambda", shared: true, fallback: 1},
		{name: "int8_mask", shared: true, isBool: true}, // how mergekit stores signs; it does not change the result
	}}
	if sparse != keepAll {
		m.prepare = (*group).sparsify
		m.params = append(m.params, parameter{name: "density", fallback: 1}, parameter{name: "rescale", shared: true, isBool: true, fallback: boolNumber(rescale)})
	}
	return m
}

func boolNumber(truth bool) float64 {
	if truth {
		return 1
	}
	return 0
}

// methods are methods of mergekit 0.1.5, with its names and defaults.
var methods = []method{
	{name: "linear", compute: (*group).linear, params: []parameter{weight(true), {name: "normalize", shared: true, isBool: true, fallback: 1}}},
	{name: "slerp", needsBase: true, sources: [2]int{2, 2}, compute: (*group).slerp, prepare: (*group).angle, params: []parameter{{name: "t", shared: true, required: true}}},
	differenceMethod("task_arithmetic", keepAll, false, false, false),
	differenceMethod("ties", keepLargest, true, true, false),
	differenceMethod("dare_linear", keepRandom, false, false, true),
	differenceMethod("dare_ties", keepRandom, true, false, true),
	{name: "passthrough", sources: [2]int{1, 1}, compute: (*group).passthrough, params: []parameter{{name: "scale", fallback: 1}}},
}

// Methods lists the names of the methods.
func Methods() (list []string) {
	for i := range methods {
		list = append(list, methods[i].name)
	}
	return list
}

func (m *method) parameter(name string) *parameter {
	i := slices.IndexFunc(m.params, func(p parameter) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &m.params[i]
}

// parameterNames lists the parameters of the method: those of a model, or with above also the
// shared ones.
func (m *method) parameterNames(above bool) string {
	var list []string
	for _, p := range m.params {
		if above || !p.shared {
			list = append(list, p.name)
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// checkParams rejects settings that the method does not take, of a model or with above of a
// slice or recipe.
func (m *method) checkParams(given params, above bool) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		s, p := given[name], m.parameter(name)
		if p == nil || p.shared && !above {
			return wire.At(recipeName, "parameter "+wire.Quote(name), wire.NoOffset, wire.ErrUnsupported.Errorf("%s takes %s there", m.name, m.parameterNames(above)))
		}
		for _, c := range s {
			if c.isBool != p.isBool {
				return wire.At(recipeName, "parameter "+wire.Quote(name), wire.NoOffset, wire.ErrRange.Errorf("it has the wrong type: a number is not a boolean"))
			}
		}
	}
	return nil
}

// checkSlice rejects a slice with too few or too many sources, or without its base.
func (m *method) checkSlice(s *slice) error {
	n := len(s.sources)
	hasBase := slices.ContainsFunc(s.sources, func(o source) bool { return o.model == s.base })
	switch {
	case m.sources[0] > 0 && (n < m.sources[0] || n > m.sources[1]):
		return wire.ErrRange.Errorf("%s takes %d models, not %d", m.name, m.sources[1], n)
	case m.needsBase && s.base == "":
		return wire.ErrMissing.Errorf("%s needs a base_model", m.name)
	case m.needsBase && !hasBase:
		return wire.ErrMissing.Errorf("the base_model %s is not one of a slice's sources", wire.Quote(s.base))
	}
	return nil
}
