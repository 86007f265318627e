package merge

import (
	"math"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// params are settings by name.
type params map[string]setting

// A setting is a list of choices, of which the first with a matching filter holds.
type setting []choice

type choice struct {
	filter string // text in the tensor's name; empty and * match every name
	values []float64
	isBool bool // it is true or false, as 1 or 0
}

// at returns the value for a tensor; t goes from 0 in the first layer to 1 in the last, and
// interpolates between the values of a list.
func (s setting) at(name string, t float64) (float64, bool) {
	for _, c := range s {
		if c.filter != "" && c.filter != "*" && !strings.Contains(name, c.filter) {
			continue
		}
		n := len(c.values) - 1
		scaled := t * float64(n)
		i := int(scaled)
		part := scaled - float64(i)
		return float64((1-part)*c.values[i]) + float64(part*c.values[min(n, i+1)]), true
	}
	return 0, false
}

func readParams(b *limits.Budget, v jsontree.Value) (params, error) {
	p := params{}
	err := eachMember(b, v, "parameters", func(name string, v jsontree.Value) error {
		if len(p) == maxParts {
			return wire.ErrRange.Errorf("more than %d parameters", maxParts)
		}
		if err := b.Hold(128); err != nil { // a place in the map
			return err
		}
		s, err := readSetting(b, v)
		p[name] = s
		return err
	})
	return p, err
}

func readSetting(b *limits.Budget, v jsontree.Value) (setting, error) {
	first := v
	if l := v.List(); len(l) > 0 {
		first = l[0]
	}
	if first.Kind != strictjson.Object {
		c, err := readChoice(b, v)
		return setting{c}, err
	}
	if v.Kind == strictjson.Object {
		c, err := readFiltered(b, v)
		return setting{c}, err
	}
	var s setting
	err := eachElement(v, "parameters", func(v jsontree.Value) error {
		c, err := readFiltered(b, v)
		if err == nil {
			s, err = limits.Append(b, s, c)
		}
		return err
	})
	return s, err
}

func readFiltered(b *limits.Budget, v jsontree.Value) (c choice, err error) {
	for m := range v.Members() {
		switch {
		case m.Name == "filter" && m.Value.IsString():
		case m.Name == "value":
		default:
			return c, wire.ErrUnsupported.Errorf("a setting has value and filter, not %s", wire.Quote(m.Name))
		}
	}
	c, err = readChoice(b, v.Get("value"))
	c.filter = v.Get("filter").String()
	return c, err
}

func readChoice(b *limits.Budget, v jsontree.Value) (c choice, err error) {
	if truth, ok := v.Bool(); ok {
		c.isBool, c.values = true, []float64{0}
		if truth {
			c.values[0] = 1
		}
		return c, nil
	}
	all := v.List()
	if v.Kind != strictjson.Array {
		all = []jsontree.Value{v}
	}
	if len(all) == 0 || len(all) > maxParts {
		return c, wire.ErrRange.Errorf("a list must have 1 to %d numbers", maxParts)
	}
	for _, e := range all {
		f, ok := e.Float()
		if !ok || math.Abs(f) > math.MaxFloat32 {
			return c, wire.ErrRange.Errorf("a setting must be true, false, a number or a list of numbers")
		}
		if c.values, err = limits.Append(b, c.values, f); err != nil {
			return c, err
		}
	}
	return c, nil
}
