package quant

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// folded is a weight times a number per column: what its inputs are multiplied
// by at run time, and the unquantized model has no place for. Its last part.
type folded struct {
	form
	cols, size int64
	read       number
	part       int
}

func (f *folded) need(p int, lo, hi int64) tensor.Span {
	if p == f.part {
		return tensor.Span{Len: f.cols * f.size}
	}
	return f.form.need(p, lo, hi)
}

func (f *folded) decode(dst []float32, parts [][]byte, lo, hi int64) {
	f.form.decode(dst, parts[:f.part], lo, hi)
	for i := range dst[:(hi-lo)*f.cols] {
		dst[i] *= f.read(parts[f.part], int64(i)%f.cols)
	}
}

// A rowByRow is a form that can decode row r alone from what rows from lo need.
type rowByRow interface {
	one(q request, r int64) bool
}

// one needs a scale for several columns.
func (f *scaled) one(q request, r int64) bool {
	return f.codes.under != nil && !f.columns && f.scales.blockCols >= 2 && f.rows(q, r)
}

// direct decodes row by row and multiplies what comes of it.
func (f *folded) direct(q request) bool {
	inner, ok := f.form.(rowByRow)
	if !ok || q.o.Level() == asm.Generic || 3*f.cols > int64(len(q.scratch)) {
		return false
	}
	row, factors, none, rest := q.scratch[:f.cols], q.scratch[f.cols:2*f.cols], q.scratch[2*f.cols:3*f.cols], q.scratch[3*f.cols:]
	clear(none)
	for i := range factors {
		factors[i] = f.read(q.parts[f.part], int64(i))
	}
	size := f.cols * int64(q.to.Size())
	for r := q.lo; r < q.hi; r++ {
		if !inner.one(request{q.o, asm.Raw(row), asm.F32, q.parts[:f.part], q.lo, r + 1, rest}, r) {
			return false
		}
		q.o.Each(q.to, q.dst[(r-q.lo)*size:][:size], row, factors, none)
	}
	return true
}

// fold takes care of ModelOpt's pre_quant_scale: the weight alone is not that of
// the unquantized model, so that only the caller can say what is wanted.
func (s *set) fold(w *Weight) error {
	scale, ok := s.find(strings.TrimSuffix(w.Name, ".weight") + ".pre_quant_scale")
	if !ok {
		return nil
	}
	if !s.o.FoldPreQuant {
		return wire.ErrUnsupported.With("its inputs are multiplied by %s: %s multiplies the weight instead", wire.Quote(scale.Name), wire.OptionFoldPreQuant)
	}
	cols := w.Shape[len(w.Shape)-1]
	read, size, err := scaleNumber(scale)
	if err != nil {
		return err
	}
	if len(w.Shape) != 2 || !shaped(scale.Shape, []int64{cols}) {
		return mismatch(&w.Parts[0], scale)
	}
	w.form = &folded{form: w.form, cols: cols, size: size, read: read, part: len(w.Parts)}
	w.Parts = append(w.Parts, *scale)
	w.Layout += ", folded pre_quant_scale"
	return nil
}
