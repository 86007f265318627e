package fp8

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/autoround"
	"github.com/anamnesis-go/anamnesis/quant/bfl"
	"github.com/anamnesis-go/anamnesis/quant/compressed"
	"github.com/anamnesis-go/anamnesis/quant/modelopt"
	"github.com/anamnesis-go/anamnesis/quant/quark"
)

var Scheme = scheme.Scheme{
	Name: "FP8", Stores: "E4M3, E5M2 and FNUZ; scales of tensors, rows, columns, groups, blocks, experts; fbgemm; DeepSeek-V4; MXFP8; plain casts",
	Oracle: "compressed-tensors, transformers, torch", Goldens: []string{"fp8-*", "mxfp8*", "comfyui-first-fp8"}, Bind: Bind,
	Methods: autoround.Methods(methods...),
	Mains: []scheme.Main{
		{Codes: "", Parts: []string{"_scale_inv", "_scale", "_weight_scale", "_zero_point"}},
		{Codes: ".weight", Parts: []string{".scale", ".scale_weight", ".weight_scale_inv", ".weight_zero_point"}},
	},
	Scales:   []string{"_scale", "_scale_inv", ".scale", "_zero_point"},
	Endings:  []string{"-fp8", "_fp8", "-FP8"},
	Left:     sentinel,
	Explains: []string{".input_scale", ".input_scale_inv", ".activation_scale", ".scale_input", ".output_scale"},
}

// scaleNames are the names of an FP8 weight's scale: scale follows the weight's name, or
// replaces its suffix weight. All of these scales multiply.
var scaleNames = [...]struct{ weight, scale string }{
	{"", "_scale_inv"},               // DeepSeek, transformers; it is not an inverse
	{"", "_scale"},                   // compressed-tensors, ModelOpt, fbgemm
	{"", "_weight_scale"},            // ModelOpt's fused experts
	{".weight", ".scale"},            // DeepSeek-V4
	{".weight", ".scale_weight"},     // ComfyUI's first form
	{".weight", ".weight_scale_inv"}, // the same as the first for a ".weight"
}

// methods are the methods whose configurations promise a scale for an FP8 weight.
var methods = []scheme.Method{
	Method, {Name: "fbgemm_fp8", Known: fbgemmKeys, Columns: true}, {Name: "mxfp8", Known: keys}, bfl.Method, {Name: "w8a8_fp8", Known: keys},
	compressed.Method, modelopt.Method, quark.Method,
}

// Bind binds 8-bit floats under a scale of any granularity, and those without a scale
// unless one is promised.
func Bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	codec, ok := form.Float8Of(info.DType)
	if !ok || s.Table.IsScale(info.Name) || sentinel(info) || s.Claimed(info) {
		return nil, nil
	}
	scale, err := scaleOf(s, info)
	if err != nil {
		return nil, err
	}
	if scale == nil {
		return bindCast(s, info, codec)
	}
	g, layout, err := s.ScaleGrid(info, scale)
	if err != nil {
		return nil, err
	}
	cols := info.Shape[len(info.Shape)-1] // scaleGrid takes no scalar
	f := &form.Scaled{Cols: cols, Codes: form.Float8Row(cols, codec), Scales: g}
	w := &scheme.Weight{
		Name: info.Name, Shape: info.Shape, Parts: []tensor.Info{*info, *scale},
		Layout: fmt.Sprintf("%v, %s", info.DType, scheme.WithType(layout, scale)),
		Form:   f,
	}
	if err := s.ZeroPoints(w, f, info.Name+"_zero_point", tensor.I8, tensor.F8E4M3); err != nil {
		return nil, err
	}
	return w, compressed.Says(s, strings.TrimSuffix(info.Name, ".weight"), "float", g.BlockCols, f.Seconds != nil, scale)
}

// scaleOf returns the only scale of a weight.
func scaleOf(s *scheme.Set, info *tensor.Info) (*tensor.Info, error) {
	var found *tensor.Info
	for _, n := range scaleNames {
		stem, ok := strings.CutSuffix(info.Name, n.weight)
		if !ok {
			continue
		}
		scale, ok := s.Find(stem + n.scale)
		if !ok || found != nil && found.Name == scale.Name {
			continue
		}
		if found != nil {
			return nil, wire.ErrUnsupported.Errorf("two scales, %s and %s", wire.Quote(found.Name), wire.Quote(scale.Name))
		}
		found = scale
	}
	return found, nil
}

// bindCast binds FP8 without a scale, which is valid if no configuration promises one.
func bindCast(s *scheme.Set, info *tensor.Info, codec asm.Float) (*scheme.Weight, error) {
	if slices.ContainsFunc(methods, func(m scheme.Method) bool { return m.Name == s.Config.Method() }) {
		if excluded, err := s.Excluded(info.Name); err != nil {
			return nil, err
		} else if !excluded {
			return nil, wire.ErrMissing.Errorf("its scale, which %s promises (quant_method %s)", s.Config.File, wire.Quote(s.Config.Method()))
		}
	}
	if err := scaledOtherwise(s, info); err != nil {
		return nil, err
	}
	if err := elsewhere(s, info); err != nil {
		return nil, err
	}
	cols := int64(1)
	if len(info.Shape) > 0 {
		cols = info.Shape[len(info.Shape)-1]
	}
	return &scheme.Weight{
		Name: info.Name, Shape: info.Shape, Parts: []tensor.Info{*info}, Layout: info.DType.String() + ", no scale",
		Form: &form.BlockForm{Cols: cols, Codes: form.Float8Row(cols, codec)},
	}, nil
}
