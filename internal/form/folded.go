package form

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Folded is a weight with each column multiplied by a number, the factor of its input at
// run time, which the unquantized model does not have. The numbers are the last part.
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

// A rowDecoder can decode row r alone from the parts of rows that begin with lo.
type rowDecoder interface {
	directRow(q request, r int64) bool
}

var _ rowDecoder = (*Scaled)(nil)

// directRow decodes one row. It needs a scale for several columns.
func (f *Scaled) directRow(q request, r int64) bool {
	return f.Codes.decodeScaled != nil && !f.Columns && f.Scales.BlockCols >= 2 && f.rows(q, r)
}

// direct decodes row by row and multiplies the numbers.
func (f *Folded) direct(q request) bool {
	inner, ok := f.Form.(rowDecoder)
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
		if !inner.directRow(request{q.o, asm.Raw(row), asm.F32, q.parts[:f.Part], q.lo, r + 1, rest}, r) {
			return false
		}
		q.o.Each(q.to, q.dst[(r-q.lo)*size:][:size], row, factors, none)
	}
	return true
}
