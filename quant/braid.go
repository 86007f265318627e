package quant

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// braid is the columns of several plain tensors that take turns.
type braid struct {
	own
	cols    int64 // of each
	strands []strand
}

type strand struct {
	read number
	as   asm.Type
	size int64
}

func (f *braid) need(p int, lo, hi int64) tensor.Span {
	row := f.cols * f.strands[p].size
	return tensor.Span{Off: lo * row, Len: (hi - lo) * row}
}

func (f *braid) decode(dst []float32, parts [][]byte, lo, hi int64) {
	n := len(f.strands)
	for k, s := range f.strands {
		for i := range (hi - lo) * f.cols {
			dst[int(i)*n+k] = s.read(parts[k], i)
		}
	}
}

// direct casts the strands, one behind the other, and lets them take turns by two
// transposes: number 8i+j of strand k goes to row j, and from there to row i.
func (f *braid) direct(q request) bool {
	if q.o.Level() == asm.Generic {
		return false
	}
	const side = 8
	size, count, n := q.to.Size(), len(f.strands), int((q.hi-q.lo)*f.cols)
	rows, whole := n/side, n/side*side
	turned := asm.Raw(q.scratch)[:whole*count*size]
	for k, s := range f.strands {
		q.o.Cast(s.as, q.to, q.dst[k*whole*size:][:whole*size], q.parts[k][:whole*int(s.size)])
	}
	q.o.Transpose(size, turned, q.dst[:len(turned)], count*rows, side, count*rows*size, side*size)
	q.o.Transpose(size, q.dst, turned, side*count, rows, side*count*size, rows*size)
	for i := whole; i < n; i++ {
		for k, s := range f.strands {
			q.o.Cast(s.as, q.to, q.dst[(i*count+k)*size:][:size], q.parts[k][i*int(s.size):][:s.size])
		}
	}
	return true
}
