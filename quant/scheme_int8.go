package quant

import (
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var int8Scheme = scheme{
	name: "INT8", stores: "compressed-tensors and Quark, zero points", oracle: "compressed-tensors",
	goldens: []string{"int8-*"}, bind: bindInt8,
	methods:  autoRoundMethods(method{"compressed-tensors", compressedKeys}, method{"modelopt", modeloptKeys}, method{"quark", quarkKeys}, method{"w8a8_int8", nil}),
	mains:    []main{{codes: ".weight", parts: []string{".weight_scale", ".weight_zero_point"}}},
	scales:   []string{"_scale", "_zero_point"},
	endings:  []string{"-int4", "-int8"},
	explains: []string{".input_scale", ".input_zero_point", ".output_scale"},
}

// bindInt8 binds signed bytes under a scale per tensor, row or group, with or without
// zero points, of compressed-tensors and Quark.
func bindInt8(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".weight")
	scales, hasScales := s.find(stem + ".weight_scale")
	if !ok || !hasScales || info.DType != tensor.I8 || len(info.Shape) < 2 ||
		scales.DType == tensor.F8E8M0 || scales.DType == tensor.U8 {
		return nil, nil
	}
	g, layout, err := s.scaleGrid(info, scales)
	if err != nil {
		return nil, err
	}
	cols := info.Shape[len(info.Shape)-1]
	f := &form.Scaled{Cols: cols, Codes: form.Int8Row(cols), Scales: g}
	w := &Weight{
		Name: info.Name, Shape: info.Shape, Layout: fmt.Sprintf("INT8, %s", layout), Parts: []tensor.Info{*info, *scales}, form: f,
	}
	if err := s.zeroPoints(w, f, stem+".weight_zero_point", tensor.I8); err != nil {
		return nil, err
	}
	return w, s.says(stem, "int", g.BlockCols, f.Seconds != nil, scales)
}

// zeroPoints binds a zero point for each scale, if there are any.
func (s *set) zeroPoints(w *Weight, f *form.Scaled, name string, types ...tensor.DType) error {
	zeros, ok := s.find(name)
	if !ok {
		return nil
	}
	if !slices.Contains(types, zeros.DType) || zeros.Elements() != w.Parts[1].Elements() {
		return mismatch(&w.Parts[0], zeros)
	}
	second := f.Scales
	second.Size, second.Read, second.Bulk = 1, form.Numbers[zeros.DType], form.BulkOf(zeros.DType)
	f.Seconds, f.Op = &second, asm.Shift
	w.Parts = append(w.Parts, *zeros)
	return nil
}
