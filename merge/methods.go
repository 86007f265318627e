package merge

import (
	"maps"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A parameter is one that a method takes.
type parameter struct {
	name     string
	shared   bool // of the whole result, not of one model
	truth    bool // true or false
	required bool
	other    float64 // where nothing sets it
}

// A method is one way to merge.
type method struct {
	name      string
	needsBase bool
	sources   [2]int // fewest and most, 0 for any
	takes     []parameter
	sparse    sparsity
	elect     bool // signs are elected, as TIES does it

	differences bool // from the base, in several steps
	compute     func(*group, *room, int64)
	prepare     func(*group, *work) ([]phase, error) // what depends on whole tensors, or nil
}

// sparsity is which numbers of a difference are kept.
type sparsity uint8

const (
	keepAll sparsity = iota
	keepLargest
	keepRandom
)

func weight(required bool) parameter { return parameter{name: "weight", required: required} }

// task is what the methods of differences share.
func task(name string, sparse sparsity, elect, normalize, rescale bool) method {
	m := method{name: name, needsBase: true, differences: true, sparse: sparse, elect: elect, compute: (*group).differences, takes: []parameter{
		weight(true), {name: "normalize", shared: true, truth: true, other: number(normalize)}, {name: "lambda", shared: true, other: 1},
		{name: "int8_mask", shared: true, truth: true}, // how mergekit keeps signs: the numbers are the same
	}}
	if sparse != keepAll {
		m.prepare = (*group).sparsify
		m.takes = append(m.takes, parameter{name: "density", other: 1}, parameter{name: "rescale", shared: true, truth: true, other: number(rescale)})
	}
	return m
}

func number(truth bool) float64 {
	if truth {
		return 1
	}
	return 0
}

// methods are those of mergekit 0.1.5 under its names, with its defaults.
var methods = []method{
	{name: "linear", compute: (*group).linear, takes: []parameter{weight(true), {name: "normalize", shared: true, truth: true, other: 1}}},
	{name: "slerp", needsBase: true, sources: [2]int{2, 2}, compute: (*group).slerp, prepare: (*group).angle, takes: []parameter{{name: "t", shared: true, required: true}}},
	task("task_arithmetic", keepAll, false, false, false),
	task("ties", keepLargest, true, true, false),
	task("dare_linear", keepRandom, false, false, true),
	task("dare_ties", keepRandom, true, false, true),
	{name: "passthrough", sources: [2]int{1, 1}, compute: (*group).passthrough, takes: []parameter{{name: "scale", other: 1}}},
}

// Methods lists the names of the methods.
func Methods() (list []string) {
	for i := range methods {
		list = append(list, methods[i].name)
	}
	return list
}

func (m *method) parameter(name string) *parameter {
	i := slices.IndexFunc(m.takes, func(p parameter) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return &m.takes[i]
}

// taken lists the parameters that the method takes, of a model or above.
func (m *method) taken(above bool) string {
	var list []string
	for _, p := range m.takes {
		if above || !p.shared {
			list = append(list, p.name)
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// knows refuses settings that the method does not take there.
func (m *method) knows(given params, above bool) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		s, p := given[name], m.parameter(name)
		if p == nil || p.shared && !above {
			return wire.At(recipeName, "parameter "+wire.Quote(name), wire.NoOffset, wire.ErrUnsupported.Errorf("%s takes %s there", m.name, m.taken(above)))
		}
		for _, c := range s {
			if c.truth != p.truth {
				return wire.At(recipeName, "parameter "+wire.Quote(name), wire.NoOffset, wire.ErrRange.Errorf("it is of another kind"))
			}
		}
	}
	return nil
}

// fits refuses a slice of too few or too many sources, or without its base.
func (m *method) fits(s *slice) error {
	n := len(s.sources)
	hasBase := slices.ContainsFunc(s.sources, func(o source) bool { return o.model == s.base })
	switch {
	case m.sources[0] > 0 && (n < m.sources[0] || n > m.sources[1]):
		return wire.ErrRange.Errorf("%s takes %d models, here are %d", m.name, m.sources[1], n)
	case m.needsBase && s.base == "":
		return wire.ErrMissing.Errorf("%s needs a base_model", m.name)
	case m.needsBase && !hasBase:
		return wire.ErrMissing.Errorf("the base_model %s is not one of a slice's sources", wire.Quote(s.base))
	}
	return nil
}
