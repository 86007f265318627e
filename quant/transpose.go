package quant

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Transpose is a matrix of floating-point numbers with its rows and columns
// exchanged. Any range of rows needs all of it.
func Transpose(w *Weight) (*Weight, error) {
	if len(w.Shape) != 2 || len(w.Parts) != 1 || numbers[w.Parts[0].DType] == nil || w.Parts[0].Bytes() != w.Stored() {
		return nil, wire.ErrUnsupported.With("%s is no matrix of plain numbers, which alone can be transposed", wire.Quote(w.Name))
	}
	g, _ := w.Parts[0].DType.Geometry()
	t := &Weight{Name: w.Name, Shape: []int64{w.Shape[1], w.Shape[0]}, Scheme: w.Scheme, Layout: w.Layout + ", transposed", Parts: w.Parts, rows: w.cols, cols: w.rows}
	t.form = &flipped{w.cols, w.rows, int64(g.Bytes), numbers[w.Parts[0].DType]}
	return t, nil
}

// flipped has the columns of what is stored as its rows.
type flipped struct {
	rows, cols int64
	size       int64
	read       number
}

func (f *flipped) need(int, int64, int64) tensor.Span {
	return tensor.Span{Len: f.rows * f.cols * f.size}
}

// decode goes through the stored rows in order, which are read from memory once.
func (f *flipped) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for i := range f.cols {
		for r := lo; r < hi; r++ {
			dst[(r-lo)*f.cols+i] = f.read(parts[0], i*f.rows+r)
		}
	}
}
