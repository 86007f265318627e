package quant

import (
	"io"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Rows decodes a weight from its first row to its last, some rows at a time.
type Rows struct {
	reader
	to   Target
	at   int64
	step int64
}

// NewRows begins a weight, step rows at a time; 0 leaves that to it. What it
// needs in memory is charged to b. Close ends it.
func NewRows(b *limits.Budget, m tensor.Model, w *Weight, to Target, step int64) (*Rows, error) {
	r := &Rows{reader: reader{b: b, m: m, w: w}, to: to, step: step}
	if step <= 0 {
		r.step = w.Even(max(1, tileBytes/4/max(1, w.cols)))
	}
	if err := r.open(min(r.step, w.rows)); err != nil {
		return nil, err
	}
	var err error
	r.ordered, err = limits.Make[ordered](b, len(w.Parts))
	return r, err
}

// Goto goes to a row. Going back costs a part that is deflated its beginning.
func (r *Rows) Goto(row int64) { r.at = row }

// At is the next row.
func (r *Rows) At() int64 { return r.at }

// Most is the bytes of the longest piece.
func (r *Rows) Most() int64 { return min(r.step, r.w.rows) * r.w.cols * int64(r.to.Size()) }

// Next decodes the next rows into dst, which has [Rows.Most] bytes, and says how
// many bytes they take; io.EOF after the last.
func (r *Rows) Next(dst []byte) (int, error) {
	if r.at >= r.w.rows {
		return 0, io.EOF
	}
	end := min(r.at+r.step, r.w.rows)
	if g := r.w.Group(); g > 0 {
		end = min(end, (r.at/g+1)*g)
	}
	n := int((end - r.at) * r.w.cols * int64(r.to.Size()))
	if err := r.rows(dst[:n], r.to, r.at, end); err != nil {
		return 0, err
	}
	r.at = end
	return n, nil
}

// Close lets go of what is open.
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
