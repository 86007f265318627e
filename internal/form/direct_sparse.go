package form

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// KernelType returns the type of kernels that a stored type has.
func KernelType(d tensor.DType) (asm.Type, bool) {
	switch d {
	case tensor.F32:
		return asm.F32, true
	case tensor.BF16:
		return asm.BF16, true
	case tensor.F16:
		return asm.F16, true
	}
	return 0, false
}

// direct inserts the zeros of a row, and then decodes it like any other.
func (f *Sparse) direct(q request) bool {
	words, blocks := CeilDiv(f.Cols*f.Size, 4), int64(0)
	if f.Scales != nil {
		blocks = CeilDiv(f.Cols, f.Scales.BlockCols)
	}
	if !f.Plain && (f.Scales == nil || f.Scales.BlockCols < 2) || words+blocks > int64(len(q.scratch)) {
		return false
	}
	dense, scales := asm.Raw(q.scratch[:words])[:f.Cols*f.Size], q.scratch[words:][:blocks]
	width, size := CeilDiv(f.Cols, 8), f.Cols*int64(q.to.Size())
	values := q.parts[0]
	if !f.Half {
		values = values[f.Size*f.Start(q.parts[2]):]
	}
	for r := range q.hi - q.lo {
		mask := q.parts[1][r*width:][:width]
		n := int64(asm.Ones(mask)) * f.Size
		q.o.Expand(int(f.Size), dense, values[:n], mask)
		values = values[n:]
		out := q.dst[r*size:][:size]
		if f.Plain {
			q.o.Cast(f.As, q.to, out, dense)
			continue
		}
		f.Scales.fill(q.o, scales, gridPos{p: q.parts[len(q.parts)-1], lo: q.lo, r: q.lo + r}, nil)
		q.o.Float8(f.Float8, q.to, out, dense, scales, int(f.Scales.BlockCols))
	}
	return true
}
