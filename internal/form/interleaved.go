package form

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Interleaved is the columns of several plain tensors, interleaved.
type Interleaved struct {
	independentRows
	Cols  int64 // of each
	Lanes []Lane
}

type Lane struct {
	read Number
	as   asm.Type
	size int64
}

// LaneOf returns a lane stored as d that kernels read as the type as.
func LaneOf(d tensor.DType, as asm.Type) Lane { return Lane{Numbers[d], as, int64(as.Size())} }

func (f *Interleaved) Need(p int, lo, hi int64) tensor.Span {
	row := f.Cols * f.Lanes[p].size
	return tensor.Span{Off: lo * row, Len: (hi - lo) * row}
}

func (f *Interleaved) decode(dst []float32, parts [][]byte, lo, hi int64) {
	n := len(f.Lanes)
	for k, s := range f.Lanes {
		for i := range (hi - lo) * f.Cols {
			dst[int(i)*n+k] = s.read(parts[k], i)
		}
	}
}

// direct casts the lanes one after the other, and interleaves them by two transposes:
// number 8i+j of lane k goes to row j, and from there to row i.
func (f *Interleaved) direct(q request) bool {
	if q.o.Level() == asm.Generic {
		return false
	}
	const side = 8
	size, count, n := q.to.Size(), len(f.Lanes), int((q.hi-q.lo)*f.Cols)
	rows, whole := n/side, n/side*side
	transposed := asm.Raw(q.scratch)[:whole*count*size]
	for k, s := range f.Lanes {
		q.o.Cast(s.as, q.to, q.dst[k*whole*size:][:whole*size], q.parts[k][:whole*int(s.size)])
	}
	q.o.Transpose(size, transposed, q.dst[:len(transposed)], count*rows, side, asm.Strides{To: count * rows * size, From: side * size})
	q.o.Transpose(size, q.dst, transposed, side*count, rows, asm.Strides{To: side * count * size, From: rows * size})
	for i := whole; i < n; i++ {
		for k, s := range f.Lanes {
			q.o.Cast(s.as, q.to, q.dst[(i*count+k)*size:][:size], q.parts[k][i*int(s.size):][:s.size])
		}
	}
	return true
}
