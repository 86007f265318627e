package quant

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// braid is the columns of several plain tensors that take turns.
type braid struct {
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
func (f *braid) direct(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	if o.Level() == asm.Generic {
		return false
	}
	const side = 8
	size, count, n := to.Size(), len(f.strands), int((hi-lo)*f.cols)
	rows, whole := n/side, n/side*side
	turned := asm.Raw(scratch)[:whole*count*size]
	for k, s := range f.strands {
		o.Cast(s.as, to, dst[k*whole*size:][:whole*size], parts[k][:whole*int(s.size)])
	}
	o.Transpose(size, turned, dst[:len(turned)], count*rows, side, count*rows*size, side*size)
	o.Transpose(size, dst, turned, side*count, rows, side*count*size, rows*size)
	for i := whole; i < n; i++ {
		for k, s := range f.strands {
			o.Cast(s.as, to, dst[(i*count+k)*size:][:size], parts[k][i*int(s.size):][:s.size])
		}
	}
	return true
}
