package quant

import (
	"github.com/anamnesis-go/anamnesis/asm"
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
	t := &Weight{Name: w.Name, Shape: []int64{w.Shape[1], w.Shape[0]}, Scheme: w.Scheme, row: w.row, Layout: w.Layout + ", transposed", Parts: w.Parts, rows: w.cols, cols: w.rows}
	f := &flipped{rows: w.cols, cols: w.rows, size: int64(g.Bytes), read: numbers[w.Parts[0].DType]}
	f.as, f.plain = kernelType(w.Parts[0].DType)
	t.form = f
	return t, nil
}

// flipped has the columns of what is stored as its rows.
type flipped struct {
	own
	rows, cols int64
	size       int64
	read       number
	as         asm.Type // of kernels, where plain says that there is one
	plain      bool
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

// direct turns the columns and casts them.
func (f *flipped) direct(q request) bool {
	n := (q.hi - q.lo) * f.cols * f.size
	if !f.plain || n == 0 {
		return false
	}
	turned := asm.Raw(q.scratch)[:n]
	q.o.Transpose(int(f.size), turned, q.parts[0][q.lo*f.size:], int(f.cols), int(q.hi-q.lo), int(f.cols*f.size), int(f.rows*f.size))
	q.o.Cast(f.as, q.to, q.dst, turned)
	return true
}
