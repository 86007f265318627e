package onnx

import (
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// maxSmall bounds the elements of constants whose numbers are kept: shapes, repeats, ends of ranges.
const maxSmall = 16

// A sized operator makes a tensor whose size its inputs say. Runtimes compute it when they load a
// model, if these are constants.
type sized struct {
	inputs []int
	size   func(values [][]float64) float64
	of     bool    // it is so for each element of its first input, whose dimensions they may leave as they are
	times  float64 // 0 for 1
}

// sizes are the operators that make a tensor of a size that inputs say.
var sizes = map[string][]sized{
	"ConstantOfShape": {{[]int{0}, product, false, 0}}, "Expand": {{[]int{1}, product, true, 0}}, "Tile": {{[]int{1}, product, true, 0}}, "OneHot": {{[]int{1}, product, true, 0}},
	"Upsample": {{[]int{1}, product, true, 0}}, "CenterCropPad": {{[]int{1}, product, true, 0}}, "MaxUnpool": {{[]int{2}, product, false, 0}}, "AffineGrid": {{[]int{1}, product, false, 3}}, "DFT": {{[]int{1}, product, true, 2}},
	"HannWindow": {{[]int{0}, product, false, 0}}, "HammingWindow": {{[]int{0}, product, false, 0}}, "BlackmanWindow": {{[]int{0}, product, false, 0}}, "MelWeightMatrix": {{[]int{0, 1}, product, false, 0}},
	"Resize": {{[]int{3}, product, true, 0}, {[]int{1}, product, true, 0}, {[]int{2}, product, true, 0}}, "Pad": {{[]int{1}, padded, true, 0}}, "Range": {{[]int{0, 1, 2}, between, false, 0}}, "Col2Im": {{[]int{1}, product, true, 0}},
}

// product is the product of all values; none makes it smaller.
func product(values [][]float64) float64 {
	n := 1.0
	for _, v := range values {
		for _, x := range v {
			n *= max(math.Abs(x), 1)
		}
	}
	if n != n {
		return math.Inf(1)
	}
	return n
}

// padded is the size of one element between pads, of which none makes it smaller.
func padded(values [][]float64) float64 {
	n, pads := 1.0, values[0]
	for i := range len(pads) / 2 {
		n *= max(1+pads[i]+pads[i+len(pads)/2], 1)
	}
	return n
}

// between is how many numbers there are from the first to the second, in steps of the third.
func between(values [][]float64) float64 {
	from, to, by := values[0], values[1], values[2]
	if len(from) != 1 || len(to) != 1 || len(by) != 1 || by[0] == 0 {
		return 1 // the runtime refuses it
	}
	return max(math.Ceil((to[0]-from[0])/by[0]), 1)
}

// bytesOf is what n elements take; at most what an int64 holds.
func bytesOf(n float64, each int64) int64 {
	if n *= float64(each); !(n < math.MaxInt64) { // also if it is no number
		return math.MaxInt64
	}
	return int64(n)
}

// A sizing is an operator whose size, or whose value, is computed once all constants are known.
type sizing struct {
	typ, domain     string
	overload        string
	inputs, outputs []string
	sizes           map[string][]float64
	value           *folded // of an attribute
	refers          bool    // an attribute is one of the function that it belongs to
	many            bool    // it has more inputs than are kept
	bodies          []formal
	at              int64
	given           []*folded // the inputs, when they were asked last
	asked           bool
}

// sizing keeps an operator, whose outputs are constants if its inputs are.
func (d *decoder) sizing(o *nodeProto, at int64) error {
	cost := int64(sizingCost + len(o.typ) + len(o.domain) + len(o.overload))
	for _, names := range [...][]string{o.inputs, o.outputs} {
		for _, name := range names {
			cost += int64(16 + len(name))
		}
	}
	for name, values := range o.sizes {
		cost += int64(96 + len(name) + 8*len(values))
	}
	if o.value != nil {
		cost += constantCost
	}
	err := d.b.Hold(cost)
	var given []*folded
	if err == nil {
		given, err = limits.Make[*folded](d.b, len(o.inputs))
	}
	if err == nil {
		s := sizing{given: given, typ: strings.Clone(o.typ), domain: strings.Clone(o.domain), overload: strings.Clone(o.overload), inputs: slices.Clone(o.inputs), outputs: slices.Clone(o.outputs), sizes: o.sizes, value: o.value, refers: o.refers, many: o.many, bodies: o.bodies, at: at}
		d.sized, err = limits.Append(d.b, d.sized, s)
	}
	return wire.At(Format, "operator "+o.typ, at, err)
}

const (
	sizingCost  = 128
	elementCost = 4 // of a float, which most are
)

// foldGrace is what operators may make of constants before it is charged: the models without weights of
// ONNX's own tests make half of it.
const foldGrace = 1 << 30

// fold counts the elements of a tensor that a runtime makes when it loads the model. Above foldGrace, they
// count as decoded tensors do.
func (d *decoder) fold(typ string, elements float64, at int64) error {
	if d.dry {
		return nil
	}
	n := bytesOf(elements, elementCost)
	before := d.folded
	if d.folded = wire.AddCap(before, n); d.folded <= foldGrace {
		return nil
	}
	if before <= foldGrace {
		n = d.folded
	}
	return wire.At(Format, "operator "+typ, at, d.b.Expand(n))
}

// constant keeps what is known of a constant.
func (d *decoder) constant(name string, c *folded, at int64) error {
	return d.keepValue(d.constants, name, c, at)
}

// keepValue keeps what is known of a value. Where two graphs have one of a name, it is what is so of both.
func (d *decoder) keepValue(in map[string]*folded, name string, c *folded, at int64) error {
	if name == "" {
		return nil
	}
	before, has := in[name]
	switch {
	case has && c.data && before.data && before.count >= c.count:
		return nil
	case has && !c.data:
		if c = c.or(before); c.same(before) {
			return nil
		}
		if d.widens {
			c = unbounded()
		}
	}
	d.changed = true
	cost := int64(8*len(c.values) + 8*len(c.shape))
	if !has {
		cost += int64(constantCost + len(name))
		name = strings.Clone(name)
	}
	if err := d.b.Hold(cost); err != nil {
		return wire.At(Format, "value "+wire.Quote(name), at, err)
	}
	in[name] = c
	return nil
}

// constantCost is the size of a constant in memory, without name, numbers and shape.
const constantCost = 192

// maxRounds bounds how often all operators are gone through until no more is known, as functions and other
// orders need; at widenRound, what still changes is taken for unknown.
const maxRounds, widenRound = 64, 8

// charge charges what operators make of constants.
func (d *decoder) charge() error {
	d.dry, d.changed = true, true
	for k := 0; d.changed; k++ {
		if k == maxRounds {
			return wire.At(Format, "operator", d.sized[0].at, wire.ErrUnsupported.WithRule("onnx.rounds").Errorf("operators whose sizes follow from one another in more than %d steps", maxRounds))
		}
		d.changed, d.widens = false, k >= widenRound
		if err := d.round(); err != nil {
			return err
		}
	}
	d.dry = false
	return d.round()
}

// round goes through all operators.
func (d *decoder) round() error {
	for i := range d.sized {
		s := &d.sized[i]
		cost := 1 + int64(len(s.inputs)) + int64(len(s.outputs))
		for _, g := range s.bodies {
			cost += 1 + int64(len(g.inputs)) + int64(len(g.outputs))
		}
		if err := d.steps.Take(cost); err != nil {
			return wire.At(Format, "operator "+s.typ, s.at, err)
		}
		if s.typ == "Loop" && !d.dry {
			if err := d.loop(s); err != nil {
				return err
			}
		}
		if err := d.made(s); err != nil {
			return err
		}
	}
	return nil
}

// inputsOf returns what is known of the inputs of an operator, nil where it is nothing; whether all are
// known, whether all are constants, and whether all is as it was.
func (d *decoder) inputsOf(s *sizing) (inputs []*folded, known, constant, same bool) {
	known, constant, same = true, len(s.inputs) > 0 || s.value != nil || s.typ == "Constant", s.asked
	s.asked = true
	for i, name := range s.inputs {
		c := d.constants[name]
		if c == nil && name != "" {
			c, constant = d.statics[name], false
		}
		known, same = known && (c != nil || name == ""), same && s.given[i] == c
		s.given[i] = c
	}
	return s.given, known, constant, same
}

// made charges what an operator makes: as many elements as its inputs and attributes say, if these are
// constants, and what a runtime computes of constants alone.
func (d *decoder) made(s *sizing) error {
	inputs, known, constant, same := d.inputsOf(s)
	if f := d.formals[callName{s.domain, s.typ, s.overload}.plain()]; f != nil {
		return d.calledWith(s, f, inputs)
	}
	if len(s.bodies) > 0 {
		return d.branches(s, inputs, constant)
	}
	if same && d.dry {
		return nil // it makes the same again
	}
	if (s.typ == "Shape" || s.typ == "Size") && len(inputs) == 1 && inputs[0] != nil && inputs[0].shape != nil {
		constant = true
	}
	n, exact := s.saidBy(inputs)
	if !known && !constant {
		return d.charged(s, n, exact)
	}
	for k, name := range s.outputs {
		c := s.compute(inputs, k, n)
		if c.data = !constant; c.data && c.shape != nil {
			if err := d.keepValue(d.statics, name, c, s.at); err != nil {
				return err
			}
		}
		if c.data {
			continue
		}
		if err := d.output(s, inputs, c, n, exact); err != nil {
			return err
		}
		if err := d.constant(name, c, s.at); err != nil {
			return err
		}
	}
	if !constant {
		return d.charged(s, n, exact)
	}
	return nil
}

// output charges an output of an operator on constants. n is how many elements inputs and attributes say
// at most; exact reports whether that is no bound alone.
func (d *decoder) output(s *sizing, inputs []*folded, c *folded, n float64, exact bool) error {
	m, whole := c.size()
	if c.shape == nil && growths[s.typ] == saidSize {
		whole = exact
	}
	if math.IsInf(m, 1) && !math.IsInf(n, 1) {
		if err := d.charged(s, n, exact); err != nil {
			return err
		}
	}
	if math.IsInf(m, 1) && !s.grows(inputs) {
		return nil // of an operator that is not known here, of which the size matters where it is used
	}
	return d.charged(s, m, whole)
}

// size returns how many elements a value has at most, and whether that is exact.
func (c *folded) size() (n float64, exact bool) {
	if c.shape != nil {
		return c.elements(), true
	}
	return c.count, false
}

// charged charges n elements of an output. If it may be fewer and they are too many, that is said.
func (d *decoder) charged(s *sizing, n float64, exact bool) error {
	if !exact && bytesOf(n, elementCost) > foldGrace {
		return d.unknownSize(s)
	}
	return d.fold(s.typ, n, s.at)
}

// calledWith gives the inputs of an operator to the function that it calls, and takes its outputs.
func (d *decoder) calledWith(s *sizing, f *formal, inputs []*folded) error {
	for k, name := range f.inputs {
		if k >= len(inputs) || inputs[k] == nil {
			continue
		}
		in := d.constants
		if inputs[k].data {
			in = d.statics
		}
		if err := d.keepValue(in, name, inputs[k], s.at); err != nil {
			return err
		}
	}
	for k, name := range s.outputs {
		if k >= len(f.outputs) {
			break
		}
		for _, in := range [...]map[string]*folded{d.constants, d.statics} {
			c := in[f.outputs[k]]
			if c == nil {
				continue
			}
			if err := d.keepValue(in, name, c, s.at); err != nil {
				return err
			}
		}
	}
	return nil
}

// saidBy returns how many elements inputs or attributes say that an operator makes at most, 0 where they say
// nothing or are no constants, and whether they are exact.
func (s *sizing) saidBy(inputs []*folded) (n float64, exact bool) {
	n, each := s.attributed(inputs), 1.0
	if exact = !math.IsInf(n, 1); len(inputs) > 0 && inputs[0] != nil && !inputs[0].data {
		each = inputs[0].count
	}
	for _, row := range sizes[s.typ] {
		m, known, constant := s.saidByRow(row, inputs)
		if !constant {
			continue
		}
		if row.of {
			m *= each
		}
		n, exact = max(n, m*max(row.times, 1)), exact && known
	}
	if n != n {
		n = math.Inf(1)
	}
	return n, exact
}

// saidByRow is saidBy for one of the ways to say a size.
func (s *sizing) saidByRow(row sized, inputs []*folded) (n float64, known, constant bool) {
	values, count, bound := make([][]float64, 0, maxInputs), 1.0, 1.0
	known = true
	for _, k := range row.inputs {
		if k >= len(inputs) || inputs[k] == nil || inputs[k].data {
			return 0, false, false
		}
		c := inputs[k]
		values, known = append(values, c.values), known && c.values != nil
		count, bound = max(count, c.count), max(bound, c.bound)
	}
	switch {
	case known:
		return row.size(values), true, true
	case s.typ == "Pad":
		return math.Pow(1+2*bound, count), false, true
	case s.typ == "Range" && !integral(inputs):
		return math.Inf(1), false, true // of steps that may be small
	case s.typ == "Range":
		return 2 * bound, false, true
	}
	return math.Pow(bound, count*float64(len(row.inputs))), false, true
}

// integral reports whether all inputs are whole numbers by their types.
func integral(inputs []*folded) bool {
	return !slices.ContainsFunc(inputs, func(c *folded) bool { return c == nil || c.typ < 2 || c.typ > typeInt64 })
}

// attributed returns how many elements the attributes of an operator say that it makes.
func (s *sizing) attributed(inputs []*folded) (n float64) {
	each, constant := 1.0, len(inputs) > 0 && inputs[0] != nil && !inputs[0].data
	if constant {
		each = inputs[0].count
	}
	for name, values := range s.sizes {
		m := 0.0
		switch size := [][]float64{values}; name {
		case "pads":
			m = padded(size) * each
		case "scales", "repeats", "height_scale", "width_scale":
			m = product(size) * each
		case "shape", "output_shape", "output_padding":
			m = product(size)
		case "strides":
			if s.typ == "ConvTranspose" {
				m = product(size)
			}
		}
		if slices.ContainsFunc(values, func(v float64) bool { return v != v }) { // an attribute of the function that it belongs to, or one that is too long
			if m = 0; constant || len(s.inputs) == 0 {
				m = math.Inf(1)
			}
		}
		n = max(n, m)
	}
	return n
}

// unknownSize reports a size that a runtime computes of constants when it loads the model, by an
// operator that is not computed here.
func (d *decoder) unknownSize(s *sizing) error {
	if d.unsized || d.dry { // one finding for a model
		return nil
	}
	d.unsized = true
	typ := wire.Quote(s.typ)
	return d.out.Found.Add(d.b, Format, tensor.Finding{Code: "onnx.size", Severity: tensor.Danger, Where: "operator " + typ, Off: s.at,
		Text: "the operator " + typ + " makes a tensor whose size is computed from constants by operators of which the result is not known here"})
}

// maxTrips bounds the trips of a loop that is taken to end.
const maxTrips = 1 << 20

// loop notes a loop unless a constant says how often it runs.
func (d *decoder) loop(s *sizing) error {
	if len(s.inputs) > 0 {
		if c, has := d.constants[s.inputs[0]]; has && len(c.values) == 1 && c.values[0] <= maxTrips {
			return nil
		}
	}
	if d.looped { // one finding for a model
		return nil
	}
	d.looped = true
	return d.out.Found.Add(d.b, Format, tensor.Finding{Code: "onnx.loop", Severity: tensor.Warning, Where: "operator Loop", Off: s.at, Text: "the operator Loop runs as long as the data say, which may be forever"})
}
