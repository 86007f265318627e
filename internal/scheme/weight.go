package scheme

import (
	"io"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Weight is one logical tensor and the stored tensors that hold it. It is
// safe for concurrent use.
type Weight struct {
	Name   string  // the name in an unquantized model
	Shape  []int64 // outermost dimension first
	Scheme string  // name of the scheme that bound it
	Layout string  // description for people: "128x128 blocks, F32 scales"
	Parts  []tensor.Info
	Extra  []tensor.Info // descriptions that Plan read and that belong to the weight

	Row  *Scheme
	Form form.Form
	rows int64
	cols int64
	// Promise is what the configuration states of whole parts, or nil.
	Promise interface {
		Check(b *limits.Budget, m tensor.Model) error
	}
}

// Check reads what the configuration states of whole parts and compares it with them:
// such as that all zero points of symmetric codes are the middle. [Plan] has looked at their
// beginning alone. [Decode] and [NewRows] check too.
func (w *Weight) Check(b *limits.Budget, m tensor.Model) error {
	if w.Promise == nil {
		return nil
	}
	return wire.At("quant", "tensor "+wire.Quote(w.Name), wire.NoOffset, w.Promise.Check(b, m))
}

// Described reports whether the file's metadata describes the quantization of this weight
// under its name.
func (w *Weight) Described() bool { return w.Row != nil && w.Row.Described }

// Rows is the number of rows of all matrices of the weight.
func (w *Weight) Rows() int64 { return w.rows }

// Cols is the length of a row.
func (w *Weight) Cols() int64 { return w.cols }

// Resize sets how many rows all matrices of the weight have together, and their length.
func Resize(w *Weight, rows, cols int64) { w.rows, w.cols = rows, cols }

// Size is the bytes of the decoded weight.
func (w *Weight) Size(to Target) int64 { return w.rows * w.cols * int64(to.Size()) }

// Matrix returns the layout of the rows in the parts, to decode ranges of rows. It is for
// package convert; the type is internal to this module.
func (w *Weight) Matrix() form.Matrix {
	return form.Matrix{Form: w.Form, Rows: w.rows, Cols: w.cols, Parts: len(w.Parts)}
}

// Stored is the size of all parts, or this weight's share of parts that several weights
// share.
func (w *Weight) Stored() int64 {
	var n int64
	for p, part := range w.Parts {
		if w.rows > 0 && w.Form.Geometry().Shared {
			n += w.Form.Need(p, 0, w.rows).Len
			continue
		}
		n += part.Span.Len
	}
	return n
}

// tileBytes is how much of a weight [Decode] holds as float32 at a time.
const tileBytes = 1 << 20

// Decode reads the parts of a weight and writes the decoded weight to dst, which has
// [Weight.Size] bytes.
func Decode(b *limits.Budget, m tensor.Model, w *Weight, dst []byte, to Target) error {
	if int64(len(dst)) != w.Size(to) {
		return wire.At("quant", "tensor "+wire.Quote(w.Name), wire.NoOffset,
			wire.ErrUsage.Errorf("%d bytes for a weight of %d", len(dst), w.Size(to)))
	}
	if err := w.Check(b, m); err != nil {
		return err
	}
	b = b.Probe() // memory for one weight is given back with it
	defer b.Close()
	d := reader{b: b, m: m, w: w}
	step := w.Matrix().Even(max(1, tileBytes/4/max(1, w.cols)))
	for lo, hi := int64(0), int64(0); lo < w.rows; lo = hi {
		hi = min(lo+step, w.rows)
		if g := w.Matrix().Group(); g > 0 {
			hi = min(hi, (lo/g+1)*g)
		}
		if err := d.rows(dst[lo*w.cols*int64(to.Size()):], to, lo, hi); err != nil {
			return wire.At("quant", "tensor "+wire.Quote(w.Name), wire.NoOffset, err)
		}
	}
	return nil
}

// A reader holds the memory for decoding one weight: a part that every range needs whole
// is read once.
type reader struct {
	b     *limits.Budget
	m     tensor.Model
	w     *Weight
	parts [][]byte
	spans []tensor.Span
	tile  []float32
	// ordered are the bodies of parts that are read from beginning to end, nil if ranges
	// may be asked for in any order.
	ordered []ordered
}

func (d *reader) rows(dst []byte, to Target, lo, hi int64) error {
	if d.parts == nil {
		if err := d.open(hi - lo); err != nil {
			return err
		}
	}
	m := d.w.Matrix()
	for p := range d.parts {
		span := m.Need(p, lo, hi)
		if span == d.spans[p] && d.parts[p] != nil {
			continue
		}
		if err := d.read(p, span); err != nil {
			return err
		}
	}
	m.Decode(dst, targets[to].kind, d.parts, lo, hi, d.tile)
	return nil
}

func (d *reader) open(rows int64) (err error) {
	if d.parts, err = limits.Make[[]byte](d.b, len(d.w.Parts)); err != nil {
		return err
	}
	if d.spans, err = limits.Make[tensor.Span](d.b, len(d.w.Parts)); err != nil {
		return err
	}
	d.tile, err = Sized[float32](d.b, rows*d.w.cols)
	return err
}

// read reads a span of a part. A deflated part is read again from its beginning each time
// its span moves, which happens only with small parts of archives.
func (d *reader) read(p int, span tensor.Span) error {
	part := d.w.Parts[p]
	if err := d.room(p, span.Len); err != nil {
		return err
	}
	d.spans[p] = span
	if r, ok := d.m.At(part); ok {
		return wire.ReadFull(r, d.parts[p], span.Off)
	}
	if d.ordered != nil {
		return d.ordered[p].read(d.b, d.m, part, d.parts[p], span.Off)
	}
	body, err := d.m.Body(d.b, part)
	if err != nil {
		return err
	}
	defer body.Close()
	if _, err := io.CopyN(io.Discard, body, span.Off); err != nil {
		return err
	}
	_, err = io.ReadFull(body, d.parts[p])
	return err
}

// room makes the buffer of a part n bytes long.
func (d *reader) room(p int, n int64) error {
	if int64(cap(d.parts[p])) < n {
		buf, err := Sized[byte](d.b, n)
		if err != nil {
			return err
		}
		d.parts[p] = buf
	}
	d.parts[p] = d.parts[p][:n]
	return nil
}

// Owns reports whether tensors beside the weight may belong to it. That is not so for
// blocks of GGUF, for casts, and for graphs, which say of each tensor what it is.
func Owns(w *Weight) bool {
	return w.Row.Declares != ByType && w.Row.Declares != ByGraph && len(w.Parts)+len(w.Extra) > 1
}

// SlicerOf returns the form of a weight of which any part of a row can be decoded alone.
func SlicerOf(w *Weight) (form.Slicer, error) {
	f, ok := w.Form.(form.Slicer)
	if !ok || !f.Slices() {
		return nil, wire.ErrUnsupported.Errorf("%s cannot be written transposed, as the unquantized model has it: remember the file, not the folder", w.Layout)
	}
	return f, nil
}

// Flip replaces each matrix of the weight by its transpose.
func Flip(w *Weight, b *limits.Budget) error {
	inner, err := SlicerOf(w)
	if err != nil {
		return err
	}
	last := len(w.Shape) - 1
	out, in := w.Shape[last-1], w.Shape[last]
	n, _ := wire.Product(w.Shape[:last-1])
	pieces, err := Sized[form.Piece](b, int64(n))
	if err != nil {
		return err
	}
	for m := range pieces {
		pieces[m] = form.Piece{Form: inner, First: int64(m) * out, Rows: out, Parts: len(w.Parts)}
	}
	w.Shape = slices.Clone(w.Shape)
	w.Shape[last-1], w.Shape[last] = in, out
	w.Form = &form.Transposed{In: in, Out: out, Side: 1, Pieces: pieces}
	w.Layout += ", transposed"
	return nil
}

// Reading describes a scheme and the tensor that it was bound to.
func Reading(w *Weight) string {
	if len(w.Parts) < 2 {
		return w.Scheme
	}
	return w.Scheme + " with " + wire.Quote(w.Parts[1].Name)
}
