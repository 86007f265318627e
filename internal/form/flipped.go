package form

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Flipped is the transpose of what is stored.
type Flipped struct {
	independentRows
	Rows, Cols int64
	Size       int64
	Read       Number
	As         asm.Type // the type for kernels, if plain is set
	Plain      bool
}

func (f *Flipped) Need(int, int64, int64) tensor.Span {
	return tensor.Span{Len: f.Rows * f.Cols * f.Size}
}

// decode goes through the stored rows in order, so that each is read from memory once.
func (f *Flipped) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for i := range f.Cols {
		for r := lo; r < hi; r++ {
			dst[(r-lo)*f.Cols+i] = f.Read(parts[0], i*f.Rows+r)
		}
	}
}

// direct transposes the columns and casts them.
func (f *Flipped) direct(q request) bool {
	n := (q.hi - q.lo) * f.Cols * f.Size
	if !f.Plain || n == 0 {
		return false
	}
	transposed := asm.Raw(q.scratch)[:n]
	q.o.Transpose(int(f.Size), transposed, q.parts[0][q.lo*f.Size:], int(f.Cols), int(q.hi-q.lo), asm.Strides{To: int(f.Cols * f.Size), From: int(f.Rows * f.Size)})
	q.o.Cast(f.As, q.to, q.dst, transposed)
	return true
}
