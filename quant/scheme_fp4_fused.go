package quant

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// bindFused takes ModelOpt's NVFP4 of fused experts, a parameter that is no
// ".weight": [E, in/2, out], packed along the inputs, since these experts are
// [E, in, out] in transformers; or [E, out, in/2] as all others are.
func (s *set) bindFused(info *tensor.Info) (*Weight, error) {
	if info.DType != tensor.U8 || len(info.Shape) != 3 || strings.HasSuffix(info.Name, ".weight") {
		return nil, nil
	}
	scales, ok := s.find(info.Name + "_weight_scale")
	if !ok || scales.DType != tensor.F8E4M3 {
		return nil, nil
	}
	experts, first, last := info.Shape[0], info.Shape[1], info.Shape[2]
	const group = 16
	var w *Weight
	var f *scaled
	switch {
	case first%(group/2) == 0 && shaped(scales.Shape, []int64{experts, first * 2 / group, last}):
		g := grid{matrixRows: 2 * first, blockRows: group, blockCols: 1, cols: last, size: 1, read: numbers[tensor.F8E4M3], bulk: bulkOf(tensor.F8E4M3)}
		pairs := codes{rowBytes: last, perRow: 2, pick: evenRowLow(bookOf(plusValue)), under: underHalfBytes(plusValue)}
		f = &scaled{cols: last, codes: pairs, scales: g}
		w = &Weight{Name: info.Name, Shape: []int64{experts, 2 * first, last}, Parts: []tensor.Info{*info, *scales}, form: f}
	case last%(group/2) == 0 && shaped(scales.Shape, []int64{experts, first, last * 2 / group}):
		var err error
		if w, f, err = s.fp4Weight(info, scales, info.Name, unpackedShape(info.Shape), group); err != nil {
			return nil, err
		}
		f.codes = fp4PlusRow(f.cols)
	default:
		return nil, mismatch(info, scales)
	}
	global, err := s.globalGrid(w, info.Name+"_weight_scale_2")
	if err != nil {
		return nil, err
	}
	f.global, w.Layout = global, "16-value blocks, fused experts"
	return w, nil
}

// evenRowLow reads codes of two rows in a stored one, the even in the low
// nibble.
func evenRowLow(book *[16]float32) func(dst []float32, src []byte, r int64) {
	return func(dst []float32, src []byte, r int64) {
		n := int64(len(dst))
		for c, b := range src[r/2*n:][:n] {
			dst[c] = book[b>>(r%2*4)&15]
		}
	}
}
