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

// NewRows begins a weight. What it needs in memory is charged to b.
func NewRows(b *limits.Budget, m tensor.Model, w *Weight, to Target) (*Rows, error) {
	return &Rows{reader: reader{b: b, m: m, w: w}, to: to, step: max(1, tileBytes/4/max(1, w.cols))}, b.Err()
}

// Most is the bytes of the longest piece.
func (r *Rows) Most() int64 { return min(r.step, r.w.rows) * r.w.cols * int64(r.to.Size()) }

// Next decodes the next rows into dst, which has [Rows.Most] bytes, and says how
// many bytes they take; io.EOF after the last.
func (r *Rows) Next(dst []byte) (int, error) {
	if r.at >= r.w.rows {
		return 0, io.EOF
	}
	end := min(r.at+r.step, r.w.rows)
	n := int((end - r.at) * r.w.cols * int64(r.to.Size()))
	if err := r.rows(dst[:n], r.to, r.at, end); err != nil {
		return 0, err
	}
	r.at = end
	return n, nil
}
