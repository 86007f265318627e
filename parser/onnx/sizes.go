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
	of     bool // it is so for each element of its first input, whose dimensions they may leave as they are
}

// sizes are the operators that make a tensor of a size that inputs say.
var sizes = map[string][]sized{
	"ConstantOfShape": {{[]int{0}, product, false}}, "Expand": {{[]int{1}, product, true}}, "Tile": {{[]int{1}, product, true}}, "OneHot": {{[]int{1}, product, true}},
	"Upsample": {{[]int{1}, product, true}}, "CenterCropPad": {{[]int{1}, product, true}}, "MaxUnpool": {{[]int{2}, product, false}}, "AffineGrid": {{[]int{1}, product, false}}, "DFT": {{[]int{1}, product, true}},
	"HannWindow": {{[]int{0}, product, false}}, "HammingWindow": {{[]int{0}, product, false}}, "BlackmanWindow": {{[]int{0}, product, false}}, "MelWeightMatrix": {{[]int{0, 1}, product, false}},
	"Resize": {{[]int{3}, product, true}, {[]int{2}, product, true}}, "Pad": {{[]int{1}, padded, true}}, "Range": {{[]int{0, 1, 2}, between, false}}, "TopK": {{[]int{1}, product, false}},
}

// product is the product of all values; nothing below 0 makes it smaller.
func product(values [][]float64) float64 {
	n := 1.0
	for _, v := range values {
		for _, x := range v {
			n *= math.Abs(x)
		}
	}
	return n
}

// padded is the size of one element between pads.
func padded(values [][]float64) float64 {
	n, pads := 1.0, values[0]
	for i := range len(pads) / 2 {
		n *= max(1+pads[i]+pads[i+len(pads)/2], 0)
	}
	return n
}

// between is how many numbers there are from the first to the second, in steps of the third.
func between(values [][]float64) float64 {
	from, to, by := values[0], values[1], values[2]
	if len(from) != 1 || len(to) != 1 || len(by) != 1 || by[0] == 0 {
		return 0 // the runtime refuses it
	}
	return max((to[0]-from[0])/by[0], 0)
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
	inputs, outputs []string
	sizes           map[string][]float64
	at              int64
}

// sizing keeps an operator, whose outputs are constants if its inputs are.
func (d *decoder) sizing(o *nodeProto, at int64) error {
	if o.typ == "Constant" {
		if len(o.outputs) == 0 || o.value == nil {
			return nil
		}
		return d.constant(o.outputs[0], o.value, at)
	}
	cost := int64(sizingCost + len(o.typ) + len(o.domain))
	for _, names := range [...][]string{o.inputs, o.outputs} {
		for _, name := range names {
			cost += int64(16 + len(name))
		}
	}
	for name, values := range o.sizes {
		cost += int64(96 + len(name) + 8*len(values))
	}
	err := d.b.Hold(cost)
	if err == nil {
		d.sized, err = limits.Append(d.b, d.sized, sizing{strings.Clone(o.typ), strings.Clone(o.domain), slices.Clone(o.inputs), slices.Clone(o.outputs), o.sizes, at})
	}
	return wire.At(Format, "operator "+o.typ, at, err)
}

const (
	sizingCost  = 96
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

// constant keeps what is known of a constant. Where two graphs have one of a name, it is the one
// that makes the larger tensor.
func (d *decoder) constant(name string, c *folded, at int64) error {
	if name == "" {
		return nil
	}
	before, has := d.constants[name]
	if has && !c.beyond(before) {
		return nil
	}
	cost := int64(8*len(c.values) + 8*len(c.shape))
	if !has {
		cost += int64(constantCost + len(name))
		name = strings.Clone(name)
	}
	if err := d.b.Hold(cost); err != nil {
		return wire.At(Format, "constant "+wire.Quote(name), at, err)
	}
	d.constants[name] = c
	return nil
}

// constantCost is the size of a constant in memory, without name, numbers and shape.
const constantCost = 160

// charge charges what operators make of constants, in the order of the file, which is one in which
// they run.
func (d *decoder) charge() error {
	if d.dry = len(d.formals) > 0; d.dry {
		for range functionRounds {
			if err := d.round(); err != nil {
				return err
			}
		}
		d.dry = false
	}
	return d.round()
}

// functionRounds is how deep functions are given the constants of the functions that call them, if they
// come before these in the file.
const functionRounds = 3

// round goes through all operators.
func (d *decoder) round() error {
	for i := range d.sized {
		s := &d.sized[i]
		if err := d.steps.Take(1 + int64(len(s.inputs))); err != nil {
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

// made charges what an operator makes: as many elements as its inputs and attributes say, if these are
// constants, and what a runtime computes of constants alone.
func (d *decoder) made(s *sizing) error {
	inputs := make([]*folded, 0, maxInputs)
	constant := len(s.inputs) > 0
	for _, name := range s.inputs {
		c := d.constants[name]
		if dims, is := d.statics[name]; is && c == nil && (s.typ == "Shape" || s.typ == "Size") {
			c = shaped(dims)
		}
		constant = constant && (c != nil || name == "")
		inputs = append(inputs, c)
	}
	for k, name := range d.formals[opName{s.domain, s.typ}] {
		if k < len(inputs) && inputs[k] != nil {
			if err := d.constant(name, inputs[k], s.at); err != nil {
				return err
			}
		}
	}
	n, err := d.saidBy(s, inputs)
	if err != nil {
		return err
	}
	if constant {
		return d.constantsOf(s, inputs, n)
	}
	return d.fold(s.typ, n, s.at)
}

// constantsOf notes the outputs of an operator whose inputs are constants.
func (d *decoder) constantsOf(s *sizing, inputs []*folded, n float64) error {
	for k, name := range s.outputs {
		c := s.compute(inputs, k)
		if n > c.count {
			c.count, c.shape = n, nil
		}
		if err := d.fold(s.typ, c.count, s.at); err != nil {
			return err
		}
		if err := d.constant(name, c, s.at); err != nil {
			return err
		}
	}
	return nil
}

// attributed returns how many elements the attributes of an operator say that it makes of an input with
// each elements.
func (s *sizing) attributed(each float64) (n float64) {
	for name, values := range s.sizes {
		switch size := [][]float64{values}; name {
		case "start", "end", "value":
		case "pads":
			n = max(n, padded(size)*each)
		case "scales", "repeats":
			n = max(n, product(size)*each)
		default:
			n = max(n, product(size))
		}
	}
	return n
}

// saidBy returns how many elements inputs or attributes say that an operator makes, 0 where they say
// nothing or are no constants.
func (d *decoder) saidBy(s *sizing, inputs []*folded) (n float64, err error) {
	each := 1.0
	if len(inputs) > 0 && inputs[0] != nil {
		each = inputs[0].count
	}
	n = s.attributed(each)
	for _, row := range sizes[s.typ] {
		values := make([][]float64, 0, maxInputs)
		for _, k := range row.inputs {
			if k >= len(inputs) || inputs[k] == nil {
				break
			}
			c := inputs[k]
			if c.values == nil && c.count > 0 || c.loose && s.typ == "Range" {
				return 0, d.unknownSize(s)
			}
			values = append(values, c.values)
		}
		if len(values) < len(row.inputs) {
			continue
		}
		size := row.size(values)
		switch {
		case s.typ == "Expand" && inputs[0] != nil && inputs[0].shape != nil && inputs[1].shapes():
			size = shaped(broadcast([]*folded{inputs[0], {shape: whole(inputs[1].values)}})).count
		case row.of:
			size *= each
		}
		n = max(n, size)
	}
	return n, nil
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
