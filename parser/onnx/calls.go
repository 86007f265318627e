package onnx

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

var errCalls = wire.ErrRange.WithRule("onnx.calls")

// A callName identifies a function: an operator of these three names calls it.
type callName struct{ domain, name, overload string }

// plain is the name with the shorter spelling of its domain.
func (n callName) plain() callName {
	if n.domain == "ai.onnx" {
		n.domain = ""
	}
	return n
}

// A formal is the inputs and outputs of a function by name.
type formal struct{ inputs, outputs []string }

// formal keeps the inputs and outputs of a function, which are constants where those of an operator that
// calls it are.
func (d *decoder) formal(p *functionProto, at int64) error {
	cost := int64(constantCost + len(p.domain) + len(p.name) + len(p.overload))
	for _, name := range slices.Concat(p.inputs, p.outputs) {
		cost += int64(16 + len(name))
	}
	if err := d.b.Hold(cost); err != nil {
		return wire.At(Format, "FunctionProto", at, err)
	}
	n := callName{strings.Clone(p.domain), strings.Clone(p.name), strings.Clone(p.overload)}.plain()
	if d.formals[n] == nil {
		d.formals[n] = &formal{p.inputs, p.outputs}
	}
	return nil
}

// branches takes the outputs of an operator from those of the graphs that it has: those of one for If; for
// others, which give their graphs what these make, they are not known, though constants.
func (d *decoder) branches(s *sizing, inputs []*folded, constant bool) error {
	if n, exact := d.collected(s, inputs); n > 0 {
		if err := d.charged(s, n, exact); err != nil {
			return err
		}
	}
	if !constant {
		return nil
	}
	for _, g := range s.bodies {
		for _, name := range g.inputs {
			if err := d.constant(name, unbounded(), s.at); err != nil {
				return err
			}
		}
	}
	any, made := unbounded(), len(s.bodies) > 0
	for _, g := range s.bodies {
		for _, name := range g.outputs {
			made = made && d.constants[name] != nil
		}
	}
	for k, name := range s.outputs {
		c := any
		if s.typ == "If" {
			c = d.eitherOf(s.bodies, k)
		} else if !made {
			continue
		}
		if c != nil {
			if err := d.constant(name, c, s.at); err != nil {
				return err
			}
		}
	}
	return nil
}

// collected returns how many elements an operator collects at most that runs its graph again and again, and
// whether they are exact: those of its outputs that are constants.
func (d *decoder) collected(s *sizing, inputs []*folded) (n float64, exact bool) {
	if s.typ == "If" || len(inputs) == 0 {
		return 0, true
	}
	trips, first := 0.0, 0
	for _, c := range inputs {
		if c != nil && !c.data {
			trips = max(trips, c.count)
		}
	}
	if s.typ == "Loop" {
		first = 1 + max(len(inputs)-2, 0) // after the condition and the states
		if trips = 0; inputs[0] != nil && len(inputs[0].values) == 1 {
			trips = max(inputs[0].values[0], 0)
		}
	}
	exact = true
	for _, g := range s.bodies {
		for _, name := range g.outputs[min(first, len(g.outputs)):] {
			if c := d.constants[name]; c != nil {
				m, whole := c.size()
				n, exact = n+m*trips, exact && whole
			}
		}
	}
	if n != n {
		n = math.Inf(1)
	}
	return n, exact
}

// eitherOf returns what is known of an output of one of several graphs; nil if one may be no constant.
func (d *decoder) eitherOf(graphs []formal, output int) (c *folded) {
	for _, g := range graphs {
		if output >= len(g.outputs) || d.constants[g.outputs[output]] == nil {
			return nil
		}
		v := d.constants[g.outputs[output]]
		if c == nil {
			c = v
		}
		c = c.or(v)
	}
	return c
}

// A call says how often a function has operators of a name. The model's own graphs are the caller -1.
type call struct {
	from int32
	to   int32 // by d.calls.names
	many int64
	at   int64 // of the first
}

// calls are what functions call. Messages of a file follow one another, so that the operators since
// the last function or graph belong to the one that ends.
type calls struct {
	names  map[callName]int32
	edges  []call
	known  int            // edges whose caller is known
	recent map[int32]int  // by name, its place in the edges after these
	bodies map[int32]bool // names that are functions
}

// callCost is the size of a name and of a call in memory, without texts.
const callCost = 192

// ran notes an operator.
func (d *decoder) ran(o *nodeProto, at int64) error {
	id, err := d.nameOf(callName{o.domain, o.typ, o.overload}, at)
	if err != nil {
		return err
	}
	if i, again := d.calls.recent[id]; again {
		d.calls.edges[i].many++
		return nil
	}
	if err = d.b.Hold(callCost); err == nil {
		d.calls.recent[id] = len(d.calls.edges)
		d.calls.edges, err = limits.Append(d.b, d.calls.edges, call{to: id, many: 1, at: at})
	}
	return wire.At(Format, "NodeProto", at, err)
}

// nameOf returns the number of a name. ai.onnx is the longer spelling of the domain without a name.
func (d *decoder) nameOf(n callName, at int64) (int32, error) {
	n = n.plain()
	if id, known := d.calls.names[n]; known {
		return id, nil
	}
	if err := d.b.Hold(callCost + int64(len(n.domain)+len(n.name)+len(n.overload))); err != nil {
		return 0, wire.At(Format, "NodeProto", at, err)
	}
	id := int32(len(d.calls.names))
	d.calls.names[callName{strings.Clone(n.domain), strings.Clone(n.name), strings.Clone(n.overload)}] = id
	return id, nil
}

// belongs gives the operators since the last function or graph to a caller.
func (d *decoder) belongs(from int32) error {
	for i := range d.calls.edges[d.calls.known:] {
		c := &d.calls.edges[d.calls.known+i]
		if err := d.steps.Step(); err != nil {
			return wire.At(Format, "FunctionProto", c.at, err)
		}
		c.from = from
	}
	d.calls.known = len(d.calls.edges)
	clear(d.calls.recent)
	return nil
}

// called notes a function, and what it calls.
func (d *decoder) called(p *functionProto, at int64) error {
	id, err := d.nameOf(callName{p.domain, p.name, p.overload}, at)
	if err != nil {
		return err
	}
	d.calls.bodies[id] = true
	return d.belongs(id)
}

// operatorCost is what a runtime holds at least of an operator, once the functions are in their place.
const operatorCost = 64

// expanded proves that no function calls itself, and charges the operators that the model has when
// a runtime has put every function in its place.
func (d *decoder) expanded() error {
	if err := d.belongs(-1); err != nil { // of a graph that ends the file
		return err
	}
	if len(d.calls.bodies) == 0 {
		return nil
	}
	err := limits.Sort(d.b, d.calls.edges, func(x, y call) int { return cmp.Or(cmp.Compare(x.to, y.to), cmp.Compare(x.at, y.at)) })
	if err != nil {
		return wire.At(Format, "", wire.NoOffset, err)
	}
	x := expansion{d: d, first: map[int32]int{}, size: map[int32]int64{}, waits: map[int32]int{}}
	return x.run()
}

// An expansion computes the sizes of functions, those first that call none.
type expansion struct {
	d     *decoder
	first map[int32]int   // by name, its first call in d.calls.edges
	size  map[int32]int64 // by caller, the operators that are known
	waits map[int32]int   // by caller, the functions that are not
	ready []int32
}

func (x *expansion) run() error {
	d := x.d
	if err := d.b.Hold(callCost * int64(len(d.calls.names))); err != nil {
		return wire.At(Format, "", wire.NoOffset, err)
	}
	for i, c := range d.calls.edges {
		if err := d.steps.Step(); err != nil {
			return wire.At(Format, "", c.at, err)
		}
		if _, seen := x.first[c.to]; !seen {
			x.first[c.to] = i
		}
		if d.calls.bodies[c.to] {
			x.waits[c.from]++
		} else {
			x.size[c.from] = wire.AddCap(x.size[c.from], c.many)
		}
	}
	for id := range int32(len(d.calls.names)) {
		if d.calls.bodies[id] && x.waits[id] == 0 {
			x.ready = append(x.ready, id)
		}
	}
	for len(x.ready) > 0 {
		last := len(x.ready) - 1
		id := x.ready[last]
		x.ready = x.ready[:last]
		if err := x.settle(id); err != nil {
			return err
		}
	}
	if err := x.circle(); err != nil {
		return err
	}
	return wire.At(Format, "functions", wire.NoOffset, d.b.Expand(bytesOf(float64(x.size[-1]), operatorCost)))
}

// circle refuses a call of a function that still waits for one that it calls.
func (x *expansion) circle() error {
	d := x.d
	for _, c := range d.calls.edges {
		if err := d.steps.Step(); err != nil {
			return wire.At(Format, "operator", c.at, err)
		}
		if x.waits[c.from] > 0 && d.calls.bodies[c.to] && x.waits[c.to] > 0 {
			return wire.At(Format, "operator", c.at, errCalls.Errorf("a function calls itself, or one that calls it"))
		}
	}
	return nil
}

// settle adds the size of a function to those that call it.
func (x *expansion) settle(id int32) error {
	at, called := x.first[id]
	for ; called && at < len(x.d.calls.edges); at++ {
		c := &x.d.calls.edges[at]
		if c.to != id {
			break
		}
		if err := x.d.steps.Step(); err != nil {
			return wire.At(Format, "operator", c.at, err)
		}
		x.size[c.from] = wire.AddCap(x.size[c.from], bytesOf(float64(c.many)*float64(max(x.size[id], 1)), 1))
		if x.waits[c.from]--; x.waits[c.from] == 0 && c.from >= 0 {
			x.ready = append(x.ready, c.from)
		}
	}
	return nil
}
