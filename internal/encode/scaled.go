package encode

import (
	"encoding/binary"
	"errors"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Scaled is the part of encoders that targets share whose codes have a scale for each block
// of numbers.
type Scaled struct {
	Linear

	f scaled.Format
	// Names returns the names of codes and scales, and the shape of the scales, for a weight with
	// the given rows and blocks per row; nil for compressed-tensors.
	Names func(weight string, lines, per int64) (codes, scales string, shape []int64)
	// Zeros returns the name of zero points, all of them zero; nil for none.
	Zeros func(weight string) string
}

// Start begins the encoder of a target for a model.
func (e *Scaled) Start(j *Job) error {
	t, c, o := j.Target, &j.Choices, j.Options
	e.Linear = NewLinear(t.Scaled.Layout, c.Measure, transformers.Rule{Include: c.Include, Exclude: c.Exclude})
	if err := e.Begin(j.Budget, j.Model, o); err != nil {
		return err
	}
	e.f = *t.Scaled
	e.StoresAs(t)
	return nil
}

// Format returns the format of the target.
func (e *Scaled) Format() *scaled.Format { return &e.f }

// Takes decides about a tensor.
func (e *Scaled) Takes(name string, shape []int64) (Verdict, error) {
	return e.TakesAligned(name, shape, e.WithExperts, e.f.Fits, "blocks")
}

// Encode plans a weight.
func (e *Scaled) Encode(w *scheme.Weight) (Encoding, error) {
	one, err := e.Of(w)
	if err != nil {
		return nil, err
	}
	t := &scaledEncoding{LinearWeight: one, f: &e.f, by: e}
	t.d, t.rounds = e.Computed(w)
	if err := t.plan(); err != nil {
		return nil, err
	}
	return t, e.Planned(w, t)
}

// scaledEncoding is one weight: codes, scales, and for packed codes the shape.
type scaledEncoding struct {
	LinearWeight

	by     *Scaled
	f      *scaled.Format
	d      asm.Type // of the model's weights
	rounds bool     // the numbers are decoded or rounded from another type
	stored asm.Type // of the scales
	hold   int64
}

func (e *scaledEncoding) plan() error {
	rows, cols := e.Source.Rows(), e.Source.Cols()
	lines, per := (rows+e.f.Rows-1)/e.f.Rows, e.f.Scales(cols)
	e.hold = e.Measured(e.Block())
	if e.stored = e.d; e.f.Wide() {
		e.stored = asm.F32
	}
	name, scale, shape := e.Source.Name, e.Source.Name+"_scale", []int64{lines, per}
	if e.by.Names != nil {
		name, scale, shape = e.by.Names(e.Source.Name, lines, per)
	}
	size := lines * per * int64(e.stored.Size())
	if e.f.Code.Packed() {
		words := e.f.RowBytes(cols) / 4
		return errors.Join(e.Add(name+"_packed", tensor.I32, rows*words*4, rows, words),
			e.Add(scale, FloatTypes[e.stored], size, shape...), e.Add(name+"_shape", tensor.I64, 16, 2))
	}
	code := map[scaled.Code]tensor.DType{scaled.E4M3: tensor.F8E4M3, scaled.E5M2: tensor.F8E5M2, scaled.Int8: tensor.I8}[e.f.Code]
	err := errors.Join(e.Add(name, code, rows*cols, rows, cols), e.Add(scale, FloatTypes[e.stored], size, shape...))
	if e.zeros() {
		err = errors.Join(err, e.Add(e.by.Zeros(e.Source.Name), tensor.I8, lines*per, lines, per))
	}
	return err
}

// zeros reports whether there are zero points, all of them zero, beside the scales.
func (e *scaledEncoding) zeros() bool { return e.by.Zeros != nil }

// Block returns the numbers in a row of blocks.
func (e *scaledEncoding) Block() int64 { return e.f.Rows * max(1, e.Source.Cols()) }
func (e *scaledEncoding) Hold() int64  { return e.hold }

func (e *scaledEncoding) Span(i int, lo, hi int64) tensor.Span {
	cols := e.Source.Cols()
	from, end := lo/cols, hi/cols
	switch i {
	case 0:
		row := e.f.RowBytes(cols)
		return tensor.Span{Off: from * row, Len: (end - from) * row}
	case 1:
		row := e.f.Scales(cols) * int64(e.stored.Size())
		from, end = from/e.f.Rows, (end+e.f.Rows-1)/e.f.Rows
		return tensor.Span{Off: from * row, Len: (end - from) * row}
	case 2:
		if e.zeros() {
			return tensor.Span{Off: from * e.f.Scales(cols), Len: (end - from) * e.f.Scales(cols)}
		}
	}
	return tensor.Span{}
}

// Put encodes one row of blocks after the other.
func (e *scaledEncoding) Put(dst [][]byte, lo int64, src []float32) error {
	cols := e.Source.Cols()
	m := e.Meter(lo)
	codes, out := dst[0], dst[1]
	if e.zeros() {
		clear(dst[2])
	}
	rowBytes, line := e.f.RowBytes(cols), e.f.Scales(cols)*int64(e.stored.Size())
	for len(src) > 0 {
		part := src[:min(e.f.Rows*cols, int64(len(src)))]
		if e.rounds {
			scaled.Round(part, e.d)
		}
		if err := e.encode(codes, out[:line], part); err != nil {
			return e.refused(err, lo)
		}
		if e.Unit > 0 {
			e.measure(&m, part, codes, out[:line])
		}
		n := int64(len(part))
		lo, src, codes, out = lo+n, src[n:], codes[n/cols*rowBytes:], out[line:]
	}
	if e.Unit > 0 {
		m.End()
	}
	return nil
}

// encode encodes a row of blocks, some hundred blocks at a time.
func (e *scaledEncoding) encode(codes, out []byte, part []float32) error {
	var list [512]float32
	cols, size := e.Source.Cols(), e.stored.Size()
	for first, all := int64(0), e.f.Scales(cols); first < all; {
		scales := list[:min(all-first, int64(len(list)))]
		if err := e.f.Encode(codes, scales, part, first, cols, e.d); err != nil {
			return err
		}
		asm.Best().Put(e.stored, out[:len(scales)*size], scales)
		first, out = first+int64(len(scales)), out[len(scales)*size:]
	}
	return nil
}

// refused says which number of the weight cannot be quantized.
func (e *scaledEncoding) refused(err error, lo int64) error {
	bad, ok := errors.AsType[*scaled.Bad](err)
	switch {
	case !ok:
		return err
	case bad.Finite():
		return wire.ErrUnsupported.Errorf("element %d is in a block of numbers so small that the reciprocal of its scale is infinite", lo+bad.Index)
	}
	return &NotFinite{Index: lo + bad.Index, Value: bad.Value}
}

// measure decodes row by row, as the file holds it.
func (e *scaledEncoding) measure(m *Meter, src []float32, codes, out []byte) {
	var after [256]float32
	cols := e.Source.Cols()
	width := cols
	if e.f.Cols > 0 {
		width = e.f.Cols
	}
	for row := e.f.RowBytes(cols); len(src) > 0; codes, src = codes[row:], src[cols:] {
		for at := int64(0); at < cols; {
			k := at / width
			n := min(int64(len(after)), cols-at, (k+1)*width-at)
			var scale [1]float32
			getTyped(scale[:], out[k*int64(e.stored.Size()):], e.stored)
			for i := range n {
				after[i] = e.f.Decode(codes, at+i, scale[0])
			}
			m.Add(src[at:at+n], after[:n])
			at += n
		}
	}
}

func getTyped(dst []float32, p []byte, t asm.Type) {
	var wide [4]byte
	asm.Best().Cast(t, asm.F32, wide[:], p[:t.Size()])
	GetFloats(dst, wide[:])
}

// End returns the shape that accompanies packed codes.
func (e *scaledEncoding) End() ([][]byte, error) {
	e.Finish()
	if !e.f.Code.Packed() {
		return make([][]byte, 3)[:len(e.List)], nil
	}
	var shape [16]byte
	binary.LittleEndian.PutUint64(shape[:], uint64(e.Source.Rows()))
	binary.LittleEndian.PutUint64(shape[8:], uint64(e.Source.Cols()))
	return [][]byte{nil, nil, shape[:]}, nil
}
