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
}

// sizes are the operators that make a tensor of a size that an input says.
var sizes = map[string]sized{
	"ConstantOfShape": {[]int{0}, product}, "Expand": {[]int{1}, product}, "Tile": {[]int{1}, product}, "OneHot": {[]int{1}, product},
	"Upsample": {[]int{1}, product}, "CenterCropPad": {[]int{1}, product}, "MaxUnpool": {[]int{2}, product}, "AffineGrid": {[]int{1}, product}, "DFT": {[]int{1}, product},
	"HannWindow": {[]int{0}, product}, "HammingWindow": {[]int{0}, product}, "BlackmanWindow": {[]int{0}, product}, "MelWeightMatrix": {[]int{0, 1}, product},
	"Resize": {[]int{3}, product}, "Pad": {[]int{1}, padded}, "Range": {[]int{0, 1, 2}, between},
}

// shaped are the operators that make a tensor of the shape of an attribute.
var shaped = map[string]bool{"RandomNormal": true, "RandomUniform": true}

// computed are the operators that make a small constant of others, of which a size may be made.
var computed = map[string]func(x, y float64) float64{
	"Add": func(x, y float64) float64 { return x + y }, "Sub": func(x, y float64) float64 { return x - y }, "Mul": func(x, y float64) float64 { return x * y },
	"Div": func(x, y float64) float64 { return x / y }, "Pow": math.Pow, "Max": math.Max, "Min": math.Min,
}

// passed are the operators whose output has the numbers of their first input.
var passed = map[string]bool{"Identity": true, "Cast": true, "Unsqueeze": true, "Squeeze": true, "Reshape": true, "Neg": true, "Abs": true}

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
	typ, output string
	inputs      []string
	at          int64
}

// sizing keeps an operator that makes a size, and charges one whose attribute is a shape.
func (d *decoder) sizing(o *nodeProto, at int64) error {
	if o.domain != "" && o.domain != "ai.onnx" {
		return nil
	}
	_, is := sizes[o.typ]
	if _, computes := computed[o.typ]; !is && !computes && !passed[o.typ] && o.typ != "Concat" && o.typ != "Loop" {
		switch {
		case o.typ == "Constant":
			return d.constant(o.output, o.value, at)
		case shaped[o.typ]:
			return d.fold(o.typ, product([][]float64{o.value}), at)
		}
		return nil
	}
	s := sizing{typ: strings.Clone(o.typ), output: strings.Clone(o.output), at: at}
	cost := int64(sizingCost + len(s.typ) + len(s.output))
	for _, name := range o.inputs {
		cost += int64(16 + len(name))
	}
	err := d.b.Hold(cost)
	if err == nil {
		s.inputs = slices.Clone(o.inputs)
		d.sized, err = limits.Append(d.b, d.sized, s)
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

// constant keeps the numbers of a small constant. Where two graphs have one of a name, it is the one
// that makes the larger tensor.
func (d *decoder) constant(name string, values []float64, at int64) error {
	if name == "" || len(values) == 0 {
		return nil
	}
	if before, has := d.constants[name]; has {
		if product([][]float64{values}) > product([][]float64{before}) {
			d.constants[name] = values
		}
		return nil
	}
	if err := d.b.Hold(int64(64 + len(name) + 8*len(values))); err != nil {
		return wire.At(Format, "constant "+wire.Quote(name), at, err)
	}
	d.constants[strings.Clone(name)] = values
	return nil
}

// charge charges what operators make of constants, in the order of the file, which is one in which
// they run.
func (d *decoder) charge() error {
	for i := range d.sized {
		s := &d.sized[i]
		if err := d.steps.Step(); err != nil {
			return wire.At(Format, "operator "+s.typ, s.at, err)
		}
		values := make([][]float64, 0, maxInputs)
		row, makes := sizes[s.typ]
		if makes {
			values = d.known(s, row.inputs, values)
		} else if s.typ != "Loop" {
			values = d.known(s, nil, values)
		}
		var err error
		switch {
		case s.typ == "Loop":
			err = d.loop(s)
		case len(values) == 0:
		case makes:
			err = d.fold(s.typ, row.size(values), s.at)
		default:
			err = d.constant(s.output, compute(s.typ, values), s.at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// known returns the numbers of inputs, of all if none are named; nothing unless all are known. The
// inputs that a passing operator has besides do not count.
func (d *decoder) known(s *sizing, inputs []int, values [][]float64) [][]float64 {
	names := s.inputs
	if passed[s.typ] && len(names) > 1 {
		names = names[:1]
	}
	for k, name := range names {
		if inputs != nil && !slices.Contains(inputs, k) {
			continue
		}
		v, has := d.constants[name]
		if !has {
			return nil
		}
		values = append(values, v)
	}
	if inputs != nil && len(values) < len(inputs) {
		return nil
	}
	return values
}

// compute returns the numbers that an operator makes of small constants.
func compute(typ string, values [][]float64) []float64 {
	if typ == "Concat" {
		out := slices.Concat(values...)
		return out[:min(len(out), maxSmall)]
	}
	out := slices.Clone(values[0])
	f, is := computed[typ]
	for _, v := range values[1:] {
		if !is {
			break
		}
		if len(v) > len(out) {
			out, v = slices.Clone(v), out
		}
		for i := range out {
			out[i] = f(out[i], v[i%len(v)])
		}
	}
	return out
}

// maxTrips bounds the trips of a loop that is taken to end.
const maxTrips = 1 << 20

// loop notes a loop unless a constant says how often it runs.
func (d *decoder) loop(s *sizing) error {
	if len(s.inputs) > 0 {
		if v, has := d.constants[s.inputs[0]]; has && len(v) == 1 && v[0] <= maxTrips {
			return nil
		}
	}
	if d.looped { // one finding for a model
		return nil
	}
	d.looped = true
	return d.out.Found.Add(d.b, Format, tensor.Finding{Code: "onnx.loop", Severity: tensor.Warning, Where: "operator Loop", Off: s.at, Text: "the operator Loop runs as long as the data say, which may be forever"})
}
