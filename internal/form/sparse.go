package form

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Sparse is a matrix without its zeros; a bit per element says which are stored. Parts:
// values, bits, for sparse-bitmask the index of each row's first value, and the scales of
// FP8 values.
type Sparse struct {
	independentRows
	Rows, Cols int64
	Values     int64 // number of stored values
	Read       Number
	Size       int64
	Half       bool // exactly half of each row is stored, and there are no offsets
	Scales     *Grid
	// As is the type of the values for kernels; float8 is the format of 8-bit values.
	As     asm.Type
	Float8 asm.Float
	Plain  bool // As is valid
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

// Start reads the index of the first value of a row.
func (f *Sparse) Start(p []byte) int64 { return int64(U32(p)) | int64(U32(p[4:]))<<32 }
