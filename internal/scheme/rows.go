package scheme

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Rows decodes a weight from its first row to its last, some rows at a time.
type Rows struct {
	reader
	to   Target
	at   int64
	step int64
	// If the rows of a weight are columns of a large matrix, the reader has a strip of
	// whole: the rows from first on.
	whole *Weight
	strip int64 // rows of a strip, or zero
	first int64
}

// stripBytes is the size of a strip, and the size of a weight's parts from which it is
// read in strips.
const stripBytes = 16 << 20

// NewRows begins a weight, step rows at a time; 0 chooses a default. Its memory is charged
// to b. Close ends it.
func NewRows(b *limits.Budget, m tensor.Model, w *Weight, to Target, step int64) (*Rows, error) {
	if err := w.Check(b, m); err != nil {
		return nil, err
	}
	r := &Rows{reader: reader{b: b, m: m, w: w}, to: to, step: step, whole: w}
	if n := w.Matrix().StripRows(stripBytes); n < w.rows && r.direct() {
		r.strip = n
	}
	if step <= 0 {
		r.step = w.Matrix().Even(max(1, tileBytes/4/max(1, w.cols)))
	}
	if err := r.open(min(r.step, w.rows)); err != nil {
		return nil, err
	}
	var err error
	r.ordered, err = limits.Make[ordered](b, len(w.Parts))
	return r, err
}

// Goto moves to a row. Moving back reads a deflated part again from its beginning.
func (r *Rows) Goto(row int64) { r.at = row }

// At is the next row.
func (r *Rows) At() int64 { return r.at }

// Most is the bytes of the longest piece.
func (r *Rows) Most() int64 { return min(r.step, r.whole.rows) * r.w.cols * int64(r.to.Size()) }

// Next decodes the next rows into dst and returns their number of bytes, and io.EOF after
// the last. [Rows.Most] bytes are enough for every piece; with less, it decodes fewer rows,
// but at least one.
func (r *Rows) Next(dst []byte) (int, error) {
	if r.at >= r.whole.rows {
		return 0, io.EOF
	}
	if err := r.enter(); err != nil {
		return 0, err
	}
	lo := r.at - r.first
	row := max(1, r.w.cols*int64(r.to.Size()))
	hi := min(lo+r.step, r.w.rows, lo+max(1, int64(len(dst))/row))
	if g := r.w.Matrix().Group(); g > 0 {
		hi = min(hi, (lo/g+1)*g)
	}
	n := int((hi - lo) * r.w.cols * int64(r.to.Size()))
	if err := r.rows(dst[:n], r.to, lo, hi); err != nil {
		return 0, err
	}
	r.at = r.first + hi
	return n, nil
}

// direct reports whether all parts can be read at any offset.
func (r *Rows) direct() bool {
	for _, part := range r.w.Parts {
		if _, ok := r.m.At(part); !ok {
			return false
		}
	}
	return true
}

// enter reads the strip of the next row.
func (r *Rows) enter() error {
	if r.strip == 0 || r.w != r.whole && r.at >= r.first && r.at < r.first+r.w.rows {
		return nil
	}
	lo := r.at / r.strip * r.strip
	m, columns, err := r.whole.Matrix().Strip(lo, min(lo+r.strip, r.whole.rows))
	if err != nil {
		return err
	}
	r.w = r.whole // in case reading fails
	for p, c := range columns {
		if err := r.columns(p, c); err != nil {
			return err
		}
	}
	w := *r.whole
	w.Form, w.rows = m.Form, m.Rows
	r.w, r.first = &w, lo
	return nil
}

// columns reads the columns of a part.
func (r *Rows) columns(p int, c form.Columns) error {
	if err := r.room(p, c.Size()); err != nil {
		return err
	}
	r.spans[p] = tensor.Span{Len: c.Size()}
	at, _ := r.m.At(r.w.Parts[p])
	return c.Read(r.b, at, r.parts[p])
}

// Close closes what is open.
func (r *Rows) Close() {
	for i := range r.ordered {
		r.ordered[i].close()
	}
}

// ordered is a body that can only be read in order.
type ordered struct {
	body io.ReadCloser
	at   int64
}

func (o *ordered) read(b *limits.Budget, m tensor.Model, part tensor.Info, p []byte, off int64) (err error) {
	if o.body == nil || off < o.at {
		o.close()
		if o.body, err = m.Body(b, part); err != nil {
			o.body = nil
			return err
		}
		o.at = 0
	}
	n, err := io.CopyN(io.Discard, o.body, off-o.at)
	o.at += n
	if err != nil {
		return err
	}
	k, err := io.ReadFull(o.body, p)
	o.at += int64(k)
	return err
}

func (o *ordered) close() {
	if o.body != nil {
		o.body.Close()
		o.body = nil
	}
}
