package onnx

import (
	"encoding/binary"
	"math"
	"slices"

	pb "github.com/anamnesis-go/anamnesis/internal/protobuf"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Types of numbers, as TensorProto counts them.
const (
	typeFloat, typeInt64, typeString, typeBool, typeDouble = 1, 7, 8, 9, 11
)

// A folded holds the facts known of a value: of an initializer, and of what a runtime computes of constants
// when it loads a model. A fact that is missing is never taken to be small.
type folded struct {
	values []float64 // its numbers in order, if they are few and known
	shape  []int64   // nil if it is not known
	count  float64   // of elements, at most, where an axis of 0 counts as 1; infinite if it is not known
	bound  float64   // no number is farther from 0; infinite if it is not known
	typ    int64     // of its numbers; 0 if it is not known
	data   bool      // it is no constant: only its shape is known
}

// shaped returns a value of a shape, whose numbers are not known.
func shaped(shape []int64) *folded {
	c := &folded{shape: shape, count: 1, bound: math.Inf(1)}
	if shape == nil {
		c.shape = []int64{}
	}
	for _, n := range shape {
		c.count *= max(math.Abs(float64(n)), 1) // a size below 0, which is refused elsewhere, takes nothing away
	}
	return c
}

// listed returns a constant of known numbers.
func listed(values []float64, shape []int64, typ int64) *folded {
	c := shaped(shape)
	c.values, c.typ, c.bound = values, typ, largest(values)
	return c
}

// unbounded is a value of which nothing is known.
func unbounded() *folded { return &folded{count: math.Inf(1), bound: math.Inf(1)} }

// largest returns how far numbers are from 0; infinite where one is no number.
func largest(values []float64) float64 {
	out := 0.0
	for _, v := range values {
		if v != v {
			return math.Inf(1)
		}
		out = max(out, math.Abs(v))
	}
	return out
}

// folded returns the constant that a tensor is.
func (a *tensorProto) folded() *folded {
	c := shaped(a.e.shape)
	c.typ = int64(a.e.typ)
	if n, _ := wire.Product(a.e.shape); uint64(len(a.small)) == uint64(n) && c.typ != typeString && (n == 0 || a.small != nil) {
		c.values, c.bound = append([]float64{}, a.small...), largest(a.small)
	}
	if c.typ == typeBool {
		c.bound = 1
	}
	return c
}

// or returns what is known of a value that may be either of two.
func (c *folded) or(other *folded) *folded {
	out := &folded{count: max(c.count, other.count), bound: max(c.bound, other.bound), data: c.data || other.data}
	if c.typ == other.typ {
		out.typ = c.typ
	}
	if c.shape != nil && other.shape != nil && slices.Equal(c.shape, other.shape) {
		out.shape = c.shape
	}
	if c.values != nil && other.values != nil && out.shape != nil && slices.Equal(c.values, other.values) {
		out.values = c.values
	}
	return out
}

// same reports whether equal things are known of two values.
func (c *folded) same(other *folded) bool {
	return c.count == other.count && c.bound == other.bound && c.typ == other.typ && c.data == other.data &&
		(c.shape == nil) == (other.shape == nil) && slices.Equal(c.shape, other.shape) && (c.values == nil) == (other.values == nil) && slices.Equal(c.values, other.values)
}

// elements returns how many elements a value of a known shape has.
func (c *folded) elements() float64 {
	n := 1.0
	for _, d := range c.shape {
		n *= float64(d)
	}
	return n
}

// open reports whether it is not known how many elements a value has.
func (c *folded) open() bool { return math.IsInf(c.count, 1) }

// list reports whether the numbers of a constant are known, and are a list or one number.
func (c *folded) list() bool { return c != nil && c.values != nil && len(c.shape) <= 1 }

// says notes what an attribute says of the output.
func (o *nodeProto) says(a *attributeProto) {
	o.refers = o.refers || a.refers
	switch a.name {
	case "value", "sparse_value", "value_int", "value_ints", "value_float", "value_floats", "value_string", "value_strings":
		if o.value = unbounded(); a.folded != nil {
			o.value = a.folded
		} else if a.sparse != nil {
			o.value = shaped(a.sparse)
		} else if len(a.value) > 0 && !a.many {
			shape := []int64{int64(len(a.value))}
			if a.name == "value_int" || a.name == "value_float" {
				shape = []int64{}
			}
			typ := int64(typeInt64)
			if a.name == "value_float" || a.name == "value_floats" {
				typ = typeFloat
			}
			o.value = listed(a.value, shape, typ)
		}
		return
	}
	if !keptAttributes[a.name] {
		return
	}
	if o.sizes == nil {
		o.sizes = map[string][]float64{}
	}
	if o.sizes[a.name] = a.value; a.many || a.refers || a.folded != nil {
		o.sizes[a.name] = []float64{math.NaN()} // which is no size
	}
}

// keptAttributes are those that say sizes, or where numbers come to be.
var keptAttributes = map[string]bool{
	"axis": true, "axes": true, "to": true, "keepdims": true, "perm": true, "allowzero": true, "start": true, "end": true, "new_axis": true, "fmod": true, "dtype": true, "noop_with_empty_axes": true, "num_outputs": true,
	"starts": true, "ends": true, "split": true,
	"strides": true, "shape": true, "output_shape": true, "output_padding": true, "scales": true, "pads": true, "repeats": true, "height_scale": true, "width_scale": true,
}

// floats keeps a few numbers of an attribute.
func (a *attributeProto) floats(at wire.Cursor) error {
	n := at.Left() / 4
	if n > maxSmall {
		a.many, a.folded = true, shaped([]int64{n})
		return nil
	}
	p, err := at.Bytes(uint64(4 * n))
	for i := int64(0); err == nil && i < n; i++ {
		a.value = append(a.value, float64(math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))))
	}
	return err
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
	c := shaped(v.dims)
	c.data = true
	return d.keepValue(d.statics, v.name, c, wire.NoOffset)
}
