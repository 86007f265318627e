package form

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Folded is a weight times a number per column: what its inputs are multiplied
// by at run time, and the unquantized model has no place for. Its last part.
type Folded struct {
	Form
	Cols, Size int64
	Read       Number
	Part       int
}

func (f *Folded) Need(p int, lo, hi int64) tensor.Span {
	if p == f.Part {
		return tensor.Span{Len: f.Cols * f.Size}
	}
	return f.Form.Need(p, lo, hi)
}

func (f *Folded) decode(dst []float32, parts [][]byte, lo, hi int64) {
	f.Form.decode(dst, parts[:f.Part], lo, hi)
	for i := range dst[:(hi-lo)*f.Cols] {
		dst[i] *= f.Read(parts[f.Part], int64(i)%f.Cols)
	}
}

// A rowByRow is a form that can decode row r alone from what rows from lo need.
type rowByRow interface {
	one(q request, r int64) bool
}

// one needs a scale for several columns.
func (f *Scaled) one(q request, r int64) bool {
	return f.Codes.under != nil && !f.Columns && f.Scales.BlockCols >= 2 && f.rows(q, r)
}

// direct decodes row by row and multiplies what comes of it.
func (f *Folded) direct(q request) bool {
	inner, ok := f.Form.(rowByRow)
	if !ok || q.o.Level() == asm.Generic || 3*f.Cols > int64(len(q.scratch)) {
		return false
	}
	row, factors, none, rest := q.scratch[:f.Cols], q.scratch[f.Cols:2*f.Cols], q.scratch[2*f.Cols:3*f.Cols], q.scratch[3*f.Cols:]
	clear(none)
	for i := range factors {
		factors[i] = f.Read(q.parts[f.Part], int64(i))
	}
	size := f.Cols * int64(q.to.Size())
	for r := q.lo; r < q.hi; r++ {
		if !inner.one(request{q.o, asm.Raw(row), asm.F32, q.parts[:f.Part], q.lo, r + 1, rest}, r) {
			return false
		}
		q.o.Each(q.to, q.dst[(r-q.lo)*size:][:size], row, factors, none)
	}
	return true
}
