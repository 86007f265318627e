package quant

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Transpose is a matrix of floating-point numbers with its rows and columns
// exchanged. Any range of rows needs all of it.
func Transpose(w *Weight) (*Weight, error) {
	if len(w.Shape) != 2 || len(w.Parts) != 1 || form.Numbers[w.Parts[0].DType] == nil || w.Parts[0].Bytes() != w.Stored() {
		return nil, wire.ErrUnsupported.With("%s is no matrix of plain numbers, which alone can be transposed", wire.Quote(w.Name))
	}
	g, _ := w.Parts[0].DType.Geometry()
	t := &Weight{Name: w.Name, Shape: []int64{w.Shape[1], w.Shape[0]}, Scheme: w.Scheme, row: w.row, Layout: w.Layout + ", transposed", Parts: w.Parts, rows: w.cols, cols: w.rows}
	f := &form.Flipped{Rows: w.cols, Cols: w.rows, Size: int64(g.Bytes), Read: form.Numbers[w.Parts[0].DType]}
	f.As, f.Plain = form.KernelType(w.Parts[0].DType)
	t.form = f
	return t, nil
}
