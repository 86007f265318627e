package form

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A BlockForm is rows of whole blocks of one type, for NVFP4 with a factor for the whole
// tensor or for each matrix. Parts: blocks, factors.
type BlockForm struct {
	independentRows
	Cols       int64
	Codes      Codes
	MatrixRows int64 // rows that share a factor, 0 for no factors
}

func (f *BlockForm) Need(p int, lo, hi int64) tensor.Span {
	if p == 0 {
		return f.Codes.Need(lo, hi)
	}
	first := lo / f.MatrixRows
	return tensor.Span{Off: 4 * first, Len: 4 * (CeilDiv(hi, f.MatrixRows) - first)}
}

func (f *BlockForm) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for r := lo; r < hi; r++ {
		f.Codes.row(dst[(r-lo)*f.Cols:][:f.Cols], parts[0], lo, r)
		if f.MatrixRows == 0 {
			continue
		}
		s := Numbers[tensor.F32](parts[1], r/f.MatrixRows-lo/f.MatrixRows)
		applyOp(asm.Scale, dst[(r-lo)*f.Cols:][:f.Cols], s, 0)
	}
}
