package onnx

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Scheme is the row. What operators say decides, whatever the tensors are called.
var Scheme = scheme.Scheme{
	Name: "ONNX", Stores: "DequantizeLinear of weights by tensors, axes and blocks; MatMulNBits and GatherBlockQuantized of 2, 4 and 8 bits", Oracle: "ONNX Runtime",
	Goldens: []string{"onnx-*"}, Bind: bind,
	Declares: scheme.ByGraph, Priority: 2, Joint: true,
}

// codes are the types of codes with an integer for each.
var codes = map[tensor.DType]form.Fields{
	tensor.I8: {Bits: 8, Read: form.Numbers[tensor.I8]}, tensor.U8: {Bits: 8, Read: form.Numbers[tensor.U8]},
	tensor.I16: {Bits: 16, Read: func(p []byte, i int64) float32 { return float32(int16(uint16(p[2*i]) | uint16(p[2*i+1])<<8)) }},
	tensor.U16: {Bits: 16, Read: func(p []byte, i int64) float32 { return float32(uint16(p[2*i]) | uint16(p[2*i+1])<<8) }},
	tensor.I32: {Bits: 32, Read: func(p []byte, i int64) float32 { return float32(int32(form.U32(p[4*i:]))) }},
}

// wide are zero points of 64 bits, which [Linear] may have.
var wide = form.Fields{Bits: 64, Read: func(p []byte, i int64) float32 { return float32(int64(form.U64(p[8*i:]))) }}

// floats are the types of codes that are floats of eight bits.
var floats = map[tensor.DType]asm.Float{
	tensor.F8E4M3: asm.E4M3, tensor.F8E5M2: asm.E5M2,
}

// sizes are the types of scales, with their bytes.
var sizes = map[tensor.DType]int64{tensor.F32: 4, tensor.F16: 2, tensor.BF16: 2}

// A binding is a weight while its tensors are put together.
type binding struct {
	s                    *scheme.Set
	q                    tensor.Quantized
	codes, scales, zeros *tensor.Info
	f                    *form.Affine
	shape                []int64
	layout               string
}

func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	m, ok := s.Model.(tensor.Quantizer)
	if !ok {
		return nil, nil
	}
	q, ok := m.Quantized(info.Name)
	if !ok || q.Of == "tflite" { // which has a row of its own; an operator of any other format is refused by its name
		return nil, nil
	}
	if q.Why != "" {
		return nil, wire.ErrUnsupported.Errorf("the codes of %s: %s", q.Operator, q.Why)
	}
	w, err := newBinding(s, q, info)
	if err != nil {
		return nil, err
	}
	err = wire.ErrUnsupported.Errorf("the operator %s", q.Operator)
	switch q.Operator {
	case "DequantizeLinear":
		err = w.linear(w.codes.DType)
	case "MatMulNBits":
		err = w.matMul()
	case "GatherBlockQuantized":
		err = w.gather()
	}
	if err != nil {
		return nil, err
	}
	return w.weight(), nil
}

// Linear binds codes of which each is a number, under scales and zero points of another format that
// are computed in the same way. zeros is the type of the zero points: that of the codes, or I64 if
// the caller has compared their values with the type of the codes.
func Linear(s *scheme.Set, q tensor.Quantized, info *tensor.Info, zeros tensor.DType) (*scheme.Weight, error) {
	w, err := newBinding(s, q, info)
	if err == nil {
		err = w.linear(zeros)
	}
	if err != nil {
		return nil, err
	}
	return w.weight(), nil
}

// newBinding finds the tensors of a weight.
func newBinding(s *scheme.Set, q tensor.Quantized, info *tensor.Info) (w *binding, err error) {
	w = &binding{s: s, q: q, codes: info, f: new(form.Affine)}
	var ok bool
	if w.scales, ok = s.Find(q.Scales); !ok {
		return nil, wire.ErrMissing.Errorf("its scales %s", wire.Quote(q.Scales))
	}
	if w.zeros, ok = s.Find(q.Zeros); !ok && q.Zeros != "" {
		return nil, wire.ErrMissing.Errorf("its zero points %s", wire.Quote(q.Zeros))
	}
	if w.f.ScaleSize, ok = sizes[w.scales.DType]; !ok {
		return nil, wire.ErrUnsupported.Errorf("scales of type %s", w.scales.TypeName())
	}
	w.f.Scale = form.Numbers[w.scales.DType]
	return w, nil
}

// weight returns what is bound.
func (w *binding) weight() *scheme.Weight {
	out := &scheme.Weight{Name: w.name(), Shape: w.shape, Form: w.f, Parts: []tensor.Info{*w.codes, *w.scales}}
	w.f.Bytes[0] = w.scales.Span.Len
	if w.zeros != nil {
		out.Parts, w.f.Bytes[1] = append(out.Parts, *w.zeros), w.zeros.Span.Len
		w.layout += ", zero points"
	}
	out.Layout = scheme.WithType(w.layout, w.scales)
	return out
}

// endings are what quantizers append to the name of a weight, and to that of its scales.
var endings = [...][2]string{{"_quantized", "_scale"}, {"_Q2", "_scales"}, {"_Q4", "_scales"}, {"_Q8", "_scales"}, {".qweight", ".scales"}}

// name returns the name of the weight before it was quantized, where its quantizer is known by
// the names of both tensors.
func (w *binding) name() string {
	for _, e := range endings {
		stem, ok := strings.CutSuffix(w.codes.Name, e[0])
		if !ok || w.scales.Name != stem+e[1] {
			continue
		}
		if e[0] == ".qweight" {
			stem += ".weight"
		}
		if _, taken := w.s.Names.Find(stem); !taken {
			return stem
		}
	}
	return w.codes.Name
}

// linear binds the codes of DequantizeLinear.
func (w *binding) linear(zeros tensor.DType) error {
	w.shape = w.codes.Shape
	if err := w.whole(w.codes, &w.f.Codes); err != nil {
		return err
	}
	if w.zeros != nil {
		if w.zeros.DType != zeros || !slices.Equal(w.zeros.Shape, w.scales.Shape) {
			return wire.ErrMismatch.Errorf("zero points %s %v for codes %s and scales %v", w.zeros.TypeName(), w.zeros.Shape, w.codes.TypeName(), w.scales.Shape)
		}
		if w.f.ZeroFields = wide; zeros != tensor.I64 {
			if err := w.whole(w.zeros, &w.f.ZeroFields); err != nil {
				return err
			}
		}
		if err := w.noneWide(); err != nil {
			return err
		}
	}
	if err := w.along(w.q.Axis, w.q.Block); err != nil {
		return err
	}
	w.f.RowCodes, w.f.Zeros = w.f.Cols, w.f.Scales
	return nil
}

// noneWide refuses zero points of 32 bits that are not 0: ONNX Runtime subtracts them in 32 bits, which
// may overflow, and ONNX's own reference does not.
func (w *binding) noneWide() error {
	if w.zeros.DType != tensor.I32 {
		return nil
	}
	p, err := w.s.Small(w.zeros)
	if err != nil {
		return err
	}
	if len(bytes.Trim(p, "\x00")) > 0 {
		return wire.ErrUnsupported.Errorf("zero points of 32 bits that are not 0, which readers subtract differently")
	}
	return nil
}

// whole sets how codes of one element each are read.
func (w *binding) whole(of *tensor.Info, to *form.Fields) error {
	if f, ok := floats[of.DType]; ok {
		*to = form.Fields{Bits: 8, Read: func(p []byte, i int64) float32 { return f.Value(p[i]) }}
		return nil
	}
	var ok bool
	if *to, ok = codes[of.DType]; !ok {
		return wire.ErrUnsupported.Errorf("codes of type %s", of.TypeName())
	}
	return nil
}

// along sets which scale each number has, for scales of one number, of an axis of the shape, or
// of its blocks.
func (w *binding) along(axis, block int64) error {
	f, shape, rank := w.f, w.shape, int64(len(w.shape))
	if axis < 0 {
		axis += rank
	}
	f.Cols, f.Axis, f.Inner = 1, 1, 1
	if rank > 0 {
		f.Cols = shape[rank-1]
	}
	n := w.scales.Elements()
	switch {
	case block == 0 && (len(w.scales.Shape) == 0 || len(w.scales.Shape) == 1 && n == 1): // one scale, whatever the axis
		f.Axis, f.Scales, w.layout = f.Cols, form.Along{Block: 1}, "one scale"
		return nil
	case axis < 0 || axis >= rank:
		return wire.ErrMismatch.Errorf("the axis %d of shape %v", w.q.Axis, shape)
	}
	f.Axis = shape[axis]
	for _, d := range shape[axis+1:] {
		f.Inner *= d
	}
	if block == 0 {
		if len(w.scales.Shape) != 1 || n != f.Axis {
			return wire.ErrMismatch.Errorf("scales of shape %v for the axis %d of %v", w.scales.Shape, axis, shape)
		}
		f.Scales, w.layout = form.Along{Step: 1, Block: 1}, fmt.Sprintf("a scale for each index of axis %d", axis)
		return nil
	}
	want := slices.Clone(shape)
	if want[axis] = form.CeilDiv(f.Axis, max(block, 1)); block < 0 || !slices.Equal(want, w.scales.Shape) {
		return wire.ErrMismatch.Errorf("scales of shape %v for blocks of %d of the axis %d of %v", w.scales.Shape, block, axis, shape)
	}
	f.Scales = form.Along{Outer: want[axis] * f.Inner, Step: f.Inner, Each: 1, Block: block}
	w.layout = fmt.Sprintf("blocks of %d of axis %d", block, axis)
	return nil
}

// isWidth reports whether codes of this width are read in bytes.
func isWidth(bits int64) bool { return bits == 2 || bits == 4 || bits == 8 }

// matMul binds the codes of MatMulNBits: for each column of the product, blocks of codes along
// the inputs.
func (w *binding) matMul() error {
	n, k, block, bits := w.q.Shape[0], w.q.Shape[1], w.q.Block, w.q.Bits
	if n <= 0 || k <= 0 || block < 16 || block&(block-1) != 0 || !isWidth(bits) {
		return wire.ErrUnsupported.Errorf("%d bits in blocks of %d, for a matrix [%d, %d]", bits, block, n, k)
	}
	blocks := form.CeilDiv(k, block)
	if w.codes.DType != tensor.U8 || !slices.Equal(w.codes.Shape, []int64{n, blocks, block * bits / 8}) {
		return wire.ErrMismatch.Errorf("codes %s %v for %d bits in blocks of %d of a matrix [%d, %d]", w.codes.TypeName(), w.codes.Shape, bits, block, n, k)
	}
	if !isFlat(w.scales.Shape, n, blocks) {
		return wire.ErrMismatch.Errorf("scales of shape %v for %d blocks of %d rows", w.scales.Shape, blocks, n)
	}
	w.shape, w.layout = []int64{n, k}, fmt.Sprintf("%d bits, blocks of %d", bits, block)
	w.packed(bits, blocks*block, blocks)
	if w.zeros == nil {
		return nil
	}
	row := form.CeilDiv(blocks*bits, 8)
	if w.zeros.DType != tensor.U8 || !isFlat(w.zeros.Shape, n, row) {
		return wire.ErrUnsupported.Errorf("zero points %s %v for %d blocks of %d rows", w.zeros.TypeName(), w.zeros.Shape, blocks, n)
	}
	w.f.ZeroFields = form.FieldsOf(bits)
	w.f.Zeros.Outer = row * 8 / bits
	return nil
}

// isFlat reports whether a shape is that of a matrix, or of the same numbers in one row.
func isFlat(shape []int64, rows, cols int64) bool {
	return slices.Equal(shape, []int64{rows, cols}) || slices.Equal(shape, []int64{rows * cols})
}

// packed sets codes of a width in bytes, under scales for blocks of each row.
func (w *binding) packed(bits, rowCodes, blocks int64) {
	f := w.f
	f.Cols = w.shape[len(w.shape)-1]
	f.Axis, f.Inner, f.RowCodes = f.Cols, 1, rowCodes
	f.Codes, f.Zero = form.FieldsOf(bits), float32(int64(1)<<(bits-1))
	f.Scales = form.Along{Outer: blocks, Step: 1, Block: w.q.Block}
	f.Zeros = f.Scales
}

// gather binds the codes of GatherBlockQuantized. In bytes, several codes of the last axis share
// one; other types have one code an element.
func (w *binding) gather() error {
	rank := int64(len(w.codes.Shape))
	if w.q.Axis < 0 {
		w.q.Axis += rank
	}
	if w.q.Block < 16 || w.q.Block&(w.q.Block-1) != 0 || !isWidth(w.q.Bits) || rank == 0 {
		return wire.ErrUnsupported.Errorf("%d bits in blocks of %d", w.q.Bits, w.q.Block)
	}
	if strings.HasSuffix(w.codes.Stored, "INT4") {
		return w.linear(w.codes.DType)
	}
	if w.codes.DType != tensor.U8 || w.q.Axis != rank-1 {
		return wire.ErrUnsupported.Errorf("codes of type %s, in blocks of axis %d of %v", w.codes.TypeName(), w.q.Axis, w.codes.Shape)
	}
	per := 8 / w.q.Bits
	w.shape = slices.Clone(w.codes.Shape)
	w.shape[rank-1] *= per
	blocks := form.CeilDiv(w.shape[rank-1], w.q.Block)
	want := slices.Clone(w.shape)
	if want[rank-1] = blocks; !slices.Equal(want, w.scales.Shape) {
		return wire.ErrMismatch.Errorf("scales of shape %v for blocks of %d of %v", w.scales.Shape, w.q.Block, w.shape)
	}
	w.layout = fmt.Sprintf("%d bits, blocks of %d", w.q.Bits, w.q.Block)
	w.packed(w.q.Bits, w.shape[rank-1], blocks)
	if w.zeros == nil {
		return nil
	}
	if want[rank-1] = form.CeilDiv(blocks, per); w.zeros.DType != tensor.U8 || !slices.Equal(want, w.zeros.Shape) {
		return wire.ErrMismatch.Errorf("zero points %s %v for %d blocks of a row", w.zeros.TypeName(), w.zeros.Shape, blocks)
	}
	w.f.ZeroFields = form.FieldsOf(w.q.Bits)
	w.f.Zeros.Outer = want[rank-1] * per
	return nil
}
