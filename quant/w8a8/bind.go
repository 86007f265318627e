package w8a8

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/autoround"
	"github.com/anamnesis-go/anamnesis/quant/compressed"
	"github.com/anamnesis-go/anamnesis/quant/modelopt"
	"github.com/anamnesis-go/anamnesis/quant/quark"
)

var Scheme = scheme.Scheme{
	Name: "INT8", Stores: "compressed-tensors and Quark, zero points", Oracle: "compressed-tensors",
	Goldens: []string{"int8-*"}, Bind: Bind,
	Methods:  autoround.Methods(compressed.Method, modelopt.Method, quark.Method, scheme.Method{Name: "w8a8_int8"}),
	Mains:    []scheme.Main{{Codes: ".weight", Parts: []string{".weight_scale", ".weight_zero_point"}}},
	Scales:   []string{"_scale", "_zero_point"},
	Endings:  []string{"-int4", "-int8"},
	Explains: []string{".input_scale", ".input_zero_point", ".output_scale"},
}

// Bind binds signed bytes under a scale per tensor, row or group, with or without
// zero points, of compressed-tensors and Quark.
func Bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".weight")
	scales, hasScales := s.Find(stem + ".weight_scale")
	if !ok || !hasScales || info.DType != tensor.I8 || len(info.Shape) < 2 ||
		scales.DType == tensor.F8E8M0 || scales.DType == tensor.U8 {
		return nil, nil
	}
	g, layout, err := s.ScaleGrid(info, scales)
	if err != nil {
		return nil, err
	}
	cols := info.Shape[len(info.Shape)-1]
	f := &form.Scaled{Cols: cols, Codes: form.Int8Row(cols), Scales: g}
	w := &scheme.Weight{
		Name: info.Name, Shape: info.Shape, Layout: fmt.Sprintf("INT8, %s", layout), Parts: []tensor.Info{*info, *scales}, Form: f,
	}
	if err := s.ZeroPoints(w, f, stem+".weight_zero_point", tensor.I8); err != nil {
		return nil, err
	}
	return w, compressed.Says(s, stem, "int", g.BlockCols, f.Seconds != nil, scales)
}
