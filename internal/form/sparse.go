package form

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Sparse is a matrix without its zeros: a bit per element says which are there.
// Parts: values, bits, for sparse-bitmask the first value of each row, and where
// the values are FP8 their scales.
type Sparse struct {
	own
	Rows, Cols int64
	Values     int64 // how many are stored
	Read       Number
	Size       int64
	Half       bool // exactly half of each row is there, and no offsets
	Scales     *Grid
	// As is the type that the values are written from by kernels, or float8 their
	// format.
	As     asm.Type
	Float8 asm.Float
	Plain  bool // there is such a type
}

func (f *Sparse) Need(p int, lo, hi int64) tensor.Span {
	switch {
	case p == 0 && f.Half:
		return tensor.Span{Off: lo * f.Cols / 2 * f.Size, Len: (hi - lo) * f.Cols / 2 * f.Size}
	case p == 0:
		return tensor.Span{Len: f.Values * f.Size}
	case p == 1:
		row := CeilDiv(f.Cols, 8)
		return tensor.Span{Off: lo * row, Len: (hi - lo) * row}
	case p == 2 && !f.Half:
		return tensor.Span{Off: 8 * lo, Len: 8 * (hi - lo)}
	default:
		return f.Scales.Need(lo, hi)
	}
}

func (f *Sparse) decode(dst []float32, parts [][]byte, lo, hi int64) {
	width := CeilDiv(f.Cols, 8)
	for r := range hi - lo {
		next := r * f.Cols / 2
		if !f.Half {
			next = f.Start(parts[2][8*r:])
		}
		for c := range f.Cols {
			v := float32(0)
			if parts[1][r*width+c/8]>>(c%8)&1 == 1 {
				v = f.Read(parts[0], next)
				next++
			}
			dst[r*f.Cols+c] = v
		}
		if f.Scales != nil {
			scaled := Scaled{Scales: *f.Scales}
			scaled.scale(dst[r*f.Cols:][:f.Cols], [][]byte{nil, parts[len(parts)-1]}, lo, lo+r, 0)
		}
	}
}

// Start reads where the values of a row begin.
func (f *Sparse) Start(p []byte) int64 { return int64(U32(p)) | int64(U32(p[4:]))<<32 }
