package quant

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// kernelType is the type of kernels that a stored one is.
func kernelType(d tensor.DType) (asm.Type, bool) {
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

// direct brings the zeros of a row back, and then decodes it as any other.
func (f *sparse) direct(q request) bool {
	words, blocks := ceilDiv(f.cols*f.size, 4), int64(0)
	if f.scales != nil {
		blocks = ceilDiv(f.cols, f.scales.blockCols)
	}
	if !f.plain && (f.scales == nil || f.scales.blockCols < 2) || words+blocks > int64(len(q.scratch)) {
		return false
	}
	dense, scales := asm.Raw(q.scratch[:words])[:f.cols*f.size], q.scratch[words:][:blocks]
	width, size := ceilDiv(f.cols, 8), f.cols*int64(q.to.Size())
	values := q.parts[0]
	if !f.half {
		values = values[f.size*f.start(q.parts[2]):]
	}
	for r := range q.hi - q.lo {
		mask := q.parts[1][r*width:][:width]
		n := int64(asm.Ones(mask)) * f.size
		q.o.Expand(int(f.size), dense, values[:n], mask)
		values = values[n:]
		out := q.dst[r*size:][:size]
		if f.plain {
			q.o.Cast(f.as, q.to, out, dense)
			continue
		}
		f.scales.fill(q.o, scales, q.parts[len(q.parts)-1], q.lo, q.lo+r, 0, nil)
		q.o.Float8(f.float8, q.to, out, dense, scales, int(f.scales.blockCols))
	}
	return true
}
