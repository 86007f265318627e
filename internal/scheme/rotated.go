package scheme

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Rotate rotates a weight back: runs of size columns, a power of two.
func Rotate(w *Weight, size int64) error {
	cols := w.Shape[len(w.Shape)-1]
	switch {
	case size < 2 || size > form.MaxRotation || size&(size-1) != 0:
		return wire.ErrUnsupported.Errorf("a rotation of %d columns", size)
	case len(w.Shape) != 2 || cols%size != 0:
		return wire.ErrMismatch.Errorf("a rotation of %d columns of a weight of %v", size, w.Shape)
	}
	f := w.basis(cols)
	f.Size = size
	return nil
}

// basis returns the Rotated form around the weight's own.
func (w *Weight) basis(cols int64) *form.Rotated {
	f, ok := w.Form.(*form.Rotated)
	if !ok {
		f = &form.Rotated{Form: w.Form, Cols: cols, Part: len(w.Parts)}
		w.Form = f
	}
	return f
}

// LowRank adds the product of two tensors to a weight.
func (s *Set) LowRank(w *Weight, up, down string) error {
	rows, cols := w.Shape[0], w.Shape[1]
	f := w.basis(cols)
	types := []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}
	left, err := s.Companion(up, []int64{rows, -1}, types...)
	if err != nil {
		return err
	}
	right, err := s.Companion(down, []int64{left.Shape[1], cols}, types...)
	if err != nil {
		return err
	}
	f.Rank = left.Shape[1]
	f.Up, f.Down = form.FactorOf(left.DType), form.FactorOf(right.DType)
	w.Parts = append(w.Parts, *left, *right)
	return nil
}
