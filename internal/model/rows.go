package model

import (
	"io"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Rows is some rows of a tensor: n of them from row from on.
type Rows struct {
	of      Source
	info    tensor.Info
	from, n int64 // bytes
}

// NewRows selects rows.
func NewRows(of Source, from, n int64) *Rows {
	i := of.Info()
	row := i.Bytes() / max(1, i.Shape[0])
	return &Rows{of, Plain(i.Name, i.DType, append([]int64{n}, i.Shape[1:]...)), from * row, n * row}
}

// Info implements [Source], as do At, Body and Costly.
func (r *Rows) Info() *tensor.Info { return &r.info }

// At reads at any offset.
func (r *Rows) At() (io.ReaderAt, bool) {
	of, ok := r.of.At()
	if !ok {
		return nil, false
	}
	return io.NewSectionReader(of, r.from, r.n), true
}

// Body is refused where the tensor can only be read in order.
func (r *Rows) Body(*limits.Budget) (io.ReadCloser, error) { return ranges(r) }

// Costly is that of the tensor.
func (r *Rows) Costly() bool { return r.of.Costly() }
