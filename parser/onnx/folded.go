package onnx

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	pb "github.com/anamnesis-go/anamnesis/internal/protobuf"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A folded is what is known of a constant: of an initializer, and of what a runtime computes of
// constants when it loads a model.
type folded struct {
	values []float64 // its numbers, if they are few and known
	shape  []int64   // nil if it is not known
	count  float64   // of elements, at least
	loose  bool      // its numbers are among these, or none of them is larger
}

// shaped returns a constant of a shape, whose numbers are not known.
func shaped(shape []int64) *folded {
	c := &folded{shape: shape, count: 1}
	if shape == nil {
		c.shape = []int64{}
	}
	for _, n := range shape {
		c.count *= math.Abs(float64(n)) // a size below 0, which is refused elsewhere, takes nothing away
	}
	return c
}

// flat returns a list of numbers.
func flat(values []float64) *folded {
	return &folded{values: values, shape: []int64{int64(len(values))}, count: float64(len(values))}
}

// folded returns the constant that a tensor is.
func (a *tensorProto) folded() *folded {
	c := shaped(a.e.shape)
	if c.values = a.small; float64(len(a.small)) != c.count {
		c.values = nil
	}
	return c
}

// beyond reports whether a constant makes larger tensors than another.
func (c *folded) beyond(other *folded) bool {
	if (c.values == nil) != (other.values == nil) {
		return c.values == nil
	}
	x, y := product([][]float64{c.values}), product([][]float64{other.values})
	return x > y || x == y && c.count > other.count
}

// vector reports whether the numbers of a constant are known, and are a list or one number.
func (c *folded) vector() bool {
	return c != nil && c.values != nil && !c.loose && c.shape != nil && len(c.shape) <= 1
}

// shapes reports whether the numbers of a constant are the dimensions of a shape, of which none is left to
// be found.
func (c *folded) shapes() bool {
	return c.vector() && !slices.ContainsFunc(c.values, func(v float64) bool { return !(v >= 1 && v <= 1<<53 && v == math.Trunc(v)) })
}

// says notes what an attribute says of the output.
func (o *nodeProto) says(a *attributeProto) {
	switch a.name {
	case "start", "end":
		if o.typ != "Shape" {
			return
		}
	case "value", "sparse_value", "value_int", "value_ints", "value_float", "value_floats":
		if o.typ != "Constant" {
			break // what ConstantOfShape repeats
		}
		if o.value = a.folded; o.value == nil {
			o.value = flat(a.value)
			if a.name == "value_int" {
				o.value.shape = []int64{}
			}
		}
		return
	case "strides":
		if o.typ != "ConvTranspose" {
			return
		}
	case "shape", "output_shape", "output_padding", "scales", "pads", "repeats":
	default:
		return
	}
	if len(a.value) > 0 {
		if o.sizes == nil {
			o.sizes = map[string][]float64{}
		}
		o.sizes[a.name] = a.value
	}
}

// floats keeps a few numbers of an attribute.
func (a *attributeProto) floats(at wire.Cursor) error {
	n := at.Left() / 4
	if n > maxSmall {
		a.folded = shaped([]int64{n})
		return nil
	}
	p, err := at.Bytes(uint64(4 * n))
	for i := int64(0); err == nil && i < n; i++ {
		a.value = append(a.value, float64(math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))))
	}
	return err
}

// elementwise are the operators whose inputs are repeated to one shape.
var elementwise = map[string]bool{
	"Add": true, "Sub": true, "Mul": true, "Div": true, "Pow": true, "Max": true, "Min": true, "Mean": true, "Sum": true, "Mod": true, "Where": true, "PRelu": true, "BitShift": true,
	"Equal": true, "Less": true, "LessOrEqual": true, "Greater": true, "GreaterOrEqual": true, "And": true, "Or": true, "Xor": true, "BitwiseAnd": true, "BitwiseOr": true, "BitwiseXor": true,
}

// multiplied are the operators whose output may have a place for each pair of elements of their inputs.
var multiplied = map[string]bool{"MatMul": true, "MatMulInteger": true, "Gemm": true, "Einsum": true, "Gather": true, "GatherND": true, "OneHot": true, "Conv": true}

// joined are the operators whose output has the elements of all inputs.
var joined = map[string]bool{"Concat": true, "SequenceConstruct": true, "ConcatFromSequence": true, "SequenceInsert": true}

// compute returns what is known of an output of an operator on constants, whose inputs are nil where none
// is given.
func (s *sizing) compute(inputs []*folded, output int) *folded {
	if !slices.ContainsFunc(inputs, func(c *folded) bool { return c != nil }) {
		return &folded{count: 1}
	}
	out := s.size(inputs)
	if output > 0 && s.typ != "Split" {
		return out // the places of what TopK and Unique find, and states
	}
	if v, ok := s.exact(inputs); ok && len(v) <= maxSmall {
		out.values, out.loose = v, slices.ContainsFunc(inputs, func(c *folded) bool { return c != nil && c.loose })
		if out.shape != nil && product([][]float64{numbers(out.shape)}) != float64(len(v)) {
			out.shape = nil
		}
		if out.shape == nil && (asList[s.typ] || len(v) == 1) {
			out.shape = []int64{int64(len(v))}
		}
		out.count = float64(len(v))
		return out
	}
	if of, is := chosen[s.typ]; is {
		out.values, out.loose = among(inputs, of), true
	}
	return out
}

// size returns the shape and the elements of the output of an operator on constants.
func (s *sizing) size(inputs []*folded) *folded {
	sum, most, product, known := 0.0, 0.0, 1.0, true
	for _, c := range inputs {
		if c == nil {
			known = false
			continue
		}
		sum, most, product, known = sum+c.count, max(most, c.count), product*max(c.count, 1), known && c.shape != nil
	}
	switch {
	case joined[s.typ]:
		return &folded{count: sum}
	case elementwise[s.typ] && known:
		return shaped(broadcast(inputs))
	case elementwise[s.typ], multiplied[s.typ]:
		if known && len(inputs) == 2 {
			if shape := s.pairShape(inputs[0], inputs[1]); shape != nil {
				return shaped(shape)
			}
		}
		return &folded{count: product}
	case s.typ == "Reshape" && len(inputs) == 2 && inputs[0] != nil && inputs[1].shapes():
		return &folded{count: inputs[0].count, shape: whole(inputs[1].values)}
	case kept[s.typ] && inputs[0] != nil:
		return &folded{count: inputs[0].count, shape: inputs[0].shape}
	}
	return &folded{count: most}
}

// pairShape returns the shape of the output of an operator on two constants of known shapes; nil if it is
// not computed here.
func (s *sizing) pairShape(x, y *folded) []int64 {
	switch {
	case s.typ == "Gather" && len(x.shape) == 1:
		return append([]int64{}, y.shape...)
	case s.typ == "MatMul" && len(x.shape) == 2 && len(y.shape) == 2:
		return []int64{x.shape[0], y.shape[1]}
	}
	return nil
}

// broadcast returns the shape to which shapes are repeated.
func broadcast(given []*folded) []int64 {
	rank := 0
	for _, c := range given {
		rank = max(rank, len(c.shape))
	}
	out := make([]int64, 0, maxDims)
	for i := range rank {
		n := int64(1)
		for _, c := range given {
			if k := i - rank + len(c.shape); k >= 0 && c.shape[k] != 1 {
				n = max(n, c.shape[k])
			}
		}
		out = append(out, n)
	}
	return out
}

// whole returns numbers as a shape.
func whole(values []float64) []int64 {
	out := make([]int64, 0, maxSmall)
	for _, v := range values {
		out = append(out, int64(v))
	}
	return out
}

// numbers returns a shape as numbers.
func numbers(shape []int64) []float64 {
	out := make([]float64, 0, maxDims)
	for _, n := range shape {
		out = append(out, float64(n))
	}
	return out
}

// among returns numbers of which none of an output is larger that is chosen from inputs; nil if they are
// not known.
func among(inputs []*folded, of []int) []float64 {
	out := []float64{}
	for k, c := range inputs {
		if c == nil || of != nil && !slices.Contains(of, k) {
			continue
		}
		if c.values == nil || len(out)+len(c.values) > maxSmall {
			return nil
		}
		for _, v := range c.values {
			out = append(out, max(math.Abs(v), 1))
		}
	}
	return out
}

// A dimsProto is a ValueInfoProto, or a message in it: the shape that the file states of a value.
type dimsProto struct {
	pb.Ignore

	name string
	dims []int64
	free bool // one of them is not said
	said bool
}

func (v *dimsProto) Text(f uint64, s string) error {
	if v.free = v.free || f == 2; f == 1 {
		v.name = s
	}
	return nil
}

func (v *dimsProto) Number(_, n uint64) error {
	v.dims = []int64{int64(n)}
	return nil
}

func (v *dimsProto) Message(f uint64, of pb.Hook) error {
	inner, is := of.(*dimsProto)
	if !is {
		return nil
	}
	if v.free, v.said = v.free || inner.free, true; len(v.dims) >= maxDims {
		v.free = true
		return nil
	}
	v.dims = append(v.dims, inner.dims...)
	return nil
}

// static keeps the shape of a value, of which a runtime computes Shape when it loads the model.
func (d *decoder) static(v *dimsProto) error {
	if v.name == "" || v.free || !v.said || slices.ContainsFunc(v.dims, func(n int64) bool { return n < 0 }) {
		return nil
	}
	if before, has := d.statics[v.name]; has && shaped(before).count >= shaped(v.dims).count {
		return nil
	}
	err := d.b.Hold(int64(constantCost + len(v.name) + 8*len(v.dims)))
	d.statics[strings.Clone(v.name)] = v.dims
	return wire.At(Format, "value "+wire.Quote(v.name), wire.NoOffset, err)
}

// formal keeps the inputs of a function, which are constants where those of an operator that calls it are.
func (d *decoder) formal(p *functionProto, at int64) error {
	cost := int64(constantCost + len(p.domain) + len(p.name))
	for _, name := range p.inputs {
		cost += int64(16 + len(name))
	}
	if err := d.b.Hold(cost); err != nil {
		return wire.At(Format, "FunctionProto", at, err)
	}
	if d.formals[opName{strings.Clone(p.domain), strings.Clone(p.name)}] == nil {
		d.formals[opName{strings.Clone(p.domain), strings.Clone(p.name)}] = p.inputs
	}
	return nil
}
