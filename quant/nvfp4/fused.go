package nvfp4

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// bindFused binds ModelOpt's NVFP4 of fused experts, a parameter that is not a ".weight":
// [E, in/2, out], packed along the inputs because these experts are [E, in, out] in
// transformers, or [E, out, in/2] as all others.
func bindFused(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	if info.DType != tensor.U8 || len(info.Shape) != 3 || strings.HasSuffix(info.Name, ".weight") {
		return nil, nil
	}
	scales, ok := s.Find(info.Name + "_weight_scale")
	if !ok || scales.DType != tensor.F8E4M3 {
		return nil, nil
	}
	experts, first, last := info.Shape[0], info.Shape[1], info.Shape[2]
	const group = 16
	var w *scheme.Weight
	var f *form.Scaled
	switch {
	case first%(group/2) == 0 && scheme.Shaped(scales.Shape, []int64{experts, first * 2 / group, last}):
		g := form.Grid{MatrixRows: 2 * first, BlockRows: group, BlockCols: 1, Cols: last, Size: 1, Read: form.Numbers[tensor.F8E4M3], Bulk: form.BulkOf(tensor.F8E4M3)}
		f = &form.Scaled{Cols: last, Codes: form.PairRows(last, form.PlusValue), Scales: g}
		w = &scheme.Weight{Name: info.Name, Shape: []int64{experts, 2 * first, last}, Parts: []tensor.Info{*info, *scales}, Form: f}
	case last%(group/2) == 0 && scheme.Shaped(scales.Shape, []int64{experts, first, last * 2 / group}):
		var err error
		if w, f, err = s.Fp4Weight(info, scales, info.Name, scheme.UnpackedShape(info.Shape), group); err != nil {
			return nil, err
		}
		f.Codes = form.Fp4PlusRow(f.Cols)
	default:
		return nil, scheme.Mismatch(info, scales)
	}
	global, err := s.GlobalGrid(w, info.Name+"_weight_scale_2")
	if err != nil {
		return nil, err
	}
	f.Global, w.Layout = global, "16-value blocks, fused experts"
	return w, nil
}
