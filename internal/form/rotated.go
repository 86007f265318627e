package form

import (
	"math"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Rotated is a form in another basis. First the product of two matrices, up times down,
// is added to the numbers of the wrapped form, if there is one. Then runs of columns are
// multiplied by a Hadamard matrix, which is its own inverse.
//
// Libraries compute these sums by a matrix product, whose order of addition depends on
// the processor. Here they are float64 and rounded once, which is exact if the numbers of
// a run are within 2^20 of each other. Parts: those of the form, up, down.
type Rotated struct {
	Form
	Cols     int64
	Size     int64 // columns of a run, or 0 without a rotation
	Rank     int64 // of the product, or 0
	Part     int   // index of up
	Up, Down Factor
}

// A Factor says how the numbers of a part are read, and their size.
type Factor struct {
	Read Number
	Size int64
}

// FactorOf returns the Factor of a type that scales are stored in.
func FactorOf(t tensor.DType) Factor {
	g, _ := t.Geometry()
	return Factor{Numbers[t], int64(g.Bytes)}
}

// MaxRotation bounds the columns of a run. The libraries use 256, or what their user
// sets.
const MaxRotation = 1024

func (f *Rotated) Need(p int, lo, hi int64) tensor.Span {
	switch {
	case f.Rank > 0 && p == f.Part:
		return tensor.Span{Off: lo * f.Rank * f.Up.Size, Len: (hi - lo) * f.Rank * f.Up.Size}
	case f.Rank > 0 && p == f.Part+1:
		return tensor.Span{Len: f.Rank * f.Cols * f.Down.Size}
	}
	return f.Form.Need(p, lo, hi)
}

func (f *Rotated) decode(dst []float32, parts [][]byte, lo, hi int64) {
	f.Form.decode(dst, parts[:f.Part], lo, hi)
	run := f.Size
	if run == 0 {
		run = MaxRotation
	}
	var room [MaxRotation]float64
	for r := range hi - lo {
		row := dst[r*f.Cols:][:f.Cols]
		for c := int64(0); c < f.Cols; c += run {
			sums := room[:min(run, f.Cols-c)]
			for i := range sums {
				sums[i] = float64(row[c+int64(i)])
			}
			f.add(sums, parts, r, c)
			if f.Size > 0 {
				hadamard(sums)
			}
			for i, v := range sums {
				row[c+int64(i)] = float32(v)
			}
		}
	}
}

// add adds the product's part of a row, from column c on.
func (f *Rotated) add(sums []float64, parts [][]byte, r, c int64) {
	for k := range f.Rank {
		u := float64(f.Up.Read(parts[f.Part], r*f.Rank+k))
		for i := range sums {
			sums[i] += float64(u * float64(f.Down.Read(parts[f.Part+1], k*f.Cols+c+int64(i))))
		}
	}
}

// direct has no kernels, since rotated weights are rare.
func (f *Rotated) direct(request) bool { return false }

// hadamard multiplies x by a symmetric orthogonal matrix: Kronecker powers of [1 1 1 -1;
// 1 1 -1 1; 1 -1 1 1; -1 1 1 1] for powers of four, else of [1 1; 1 -1].
func hadamard(x []float64) {
	n := len(x)
	if n&0x55555555 != 0 { // not a power of four
		for h := 1; h < n; h *= 4 {
			for at := 0; at < n; at += 4 * h {
				for i := at; i < at+h; i++ {
					a, b, c, d := x[i], x[i+h], x[i+2*h], x[i+3*h]
					x[i], x[i+h], x[i+2*h], x[i+3*h] = a+b+c-d, a+b-c+d, a-b+c+d, b-a+c+d
				}
			}
		}
	} else {
		for h := 1; h < n; h *= 2 {
			for at := 0; at < n; at += 2 * h {
				for i := at; i < at+h; i++ {
					x[i], x[i+h] = x[i]+x[i+h], x[i]-x[i+h]
				}
			}
		}
	}
	scale := 1 / math.Sqrt(float64(n))
	for i := range x {
		x[i] *= scale
	}
}
