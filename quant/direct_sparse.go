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
func (f *sparse) direct(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	words, blocks := ceilDiv(f.cols*f.size, 4), int64(0)
	if f.scales != nil {
		blocks = ceilDiv(f.cols, f.scales.blockCols)
	}
	if !f.plain && (f.scales == nil || f.scales.blockCols < 2) || words+blocks > int64(len(scratch)) {
		return false
	}
	dense, scales := asm.Raw(scratch[:words])[:f.cols*f.size], scratch[words:][:blocks]
	width, size := ceilDiv(f.cols, 8), f.cols*int64(to.Size())
	values := parts[0]
	if !f.half {
		values = values[f.size*f.start(parts[2]):]
	}
	for r := range hi - lo {
		mask := parts[1][r*width:][:width]
		n := int64(asm.Ones(mask)) * f.size
		o.Expand(int(f.size), dense, values[:n], mask)
		values = values[n:]
		out := dst[r*size:][:size]
		if f.plain {
			o.Cast(f.as, to, out, dense)
			continue
		}
		f.scales.fill(o, scales, parts[len(parts)-1], lo, lo+r, 0, nil)
		o.Float8(f.float8, to, out, dense, scales, int(f.scales.blockCols))
	}
	return true
}
