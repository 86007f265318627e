package quant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var fp8Scheme = scheme{
	name: "FP8", stores: "E4M3, E5M2 and FNUZ; scales of tensors, rows, columns, groups, blocks, experts; fbgemm; DeepSeek-V4; MXFP8; plain casts",
	oracle: "compressed-tensors, transformers, torch", goldens: []string{"fp8-*", "mxfp8*", "comfyui-first-fp8"}, bind: bindFP8,
	methods: autoRoundMethods(fp8Methods...),
	mains: []main{
		{codes: "", parts: []string{"_scale_inv", "_scale", "_weight_scale", "_zero_point"}},
		{codes: ".weight", parts: []string{".scale", ".scale_weight", ".weight_scale_inv", ".weight_zero_point"}},
	},
	scales:   []string{"_scale", "_scale_inv", ".scale", "_zero_point"},
	endings:  []string{"-fp8", "_fp8", "-FP8"},
	explains: []string{".input_scale", ".input_scale_inv", ".activation_scale", ".scale_input", ".output_scale"},
}

// fp8Scales are the names of an FP8 weight's scale: scale follows the weight's name, or
// replaces its suffix weight. All of these scales multiply.
var fp8Scales = [...]struct{ weight, scale string }{
	{"", "_scale_inv"},               // DeepSeek, transformers; it is not an inverse
	{"", "_scale"},                   // compressed-tensors, ModelOpt, fbgemm
	{"", "_weight_scale"},            // ModelOpt's fused experts
	{".weight", ".scale"},            // DeepSeek-V4
	{".weight", ".scale_weight"},     // ComfyUI's first form
	{".weight", ".weight_scale_inv"}, // the same as the first for a ".weight"
}

// fp8Methods are the methods whose configurations promise a scale for an FP8 weight.
var fp8Methods = []method{
	{"fp8", fp8Keys}, {"fbgemm_fp8", fbgemmKeys}, {"mxfp8", fp8Keys}, {"bfl", bflKeys}, {"w8a8_fp8", fp8Keys},
	{"compressed-tensors", compressedKeys}, {"modelopt", modeloptKeys}, {"quark", quarkKeys},
}

// bindFP8 binds 8-bit floats under a scale of any granularity, and those without a scale
// unless one is promised.
func bindFP8(s *set, info *tensor.Info) (*Weight, error) {
	codec, ok := fp8Codec(info.DType)
	if _, torchao := s.texts[torchaoKey]; !ok || s.rows.isScale(info.Name) || s.sentinel(info) || torchao && strings.HasSuffix(info.Name, "_qdata") {
		return nil, nil
	}
	if stem, ok := suffix(info, ".compressed"); ok {
		if _, ok := s.find(stem + ".bitmask"); ok {
			return nil, nil
		}
	}
	scale, err := s.fp8Scale(info)
	if err != nil {
		return nil, err
	}
	if scale == nil {
		return s.bindCast(info, codec)
	}
	g, layout, err := s.scaleGrid(info, scale)
	if err != nil {
		return nil, err
	}
	cols := info.Shape[len(info.Shape)-1] // scaleGrid takes no scalar
	f := &form.Scaled{Cols: cols, Codes: form.Float8Row(cols, codec), Scales: g}
	w := &Weight{
		Name: info.Name, Shape: info.Shape, Parts: []tensor.Info{*info, *scale},
		Layout: fmt.Sprintf("%v, %s", info.DType, withType(layout, scale)),
		form:   f,
	}
	if err := s.zeroPoints(w, f, info.Name+"_zero_point", tensor.I8, tensor.F8E4M3); err != nil {
		return nil, err
	}
	return w, s.says(strings.TrimSuffix(info.Name, ".weight"), "float", g.BlockCols, f.Seconds != nil, scale)
}

// withType adds to a layout the type of its scales.
func withType(layout string, scale *tensor.Info) string {
	if rest, ok := strings.CutPrefix(layout, "one "); ok {
		return "one " + scale.TypeName() + " " + rest
	}
	return layout + ", " + scale.TypeName() + " scales"
}

func fp8Codec(t tensor.DType) (asm.Float, bool) {
	switch t {
	case tensor.F8E4M3:
		return asm.E4M3, true
	case tensor.F8E5M2:
		return asm.E5M2, true
	case tensor.F8E4M3FNUZ:
		return asm.E4M3FNUZ, true
	case tensor.F8E5M2FNUZ:
		return asm.E5M2FNUZ, true
	}
	return 0, false
}

// fp8Scale returns the only scale of a weight.
func (s *set) fp8Scale(info *tensor.Info) (*tensor.Info, error) {
	var found *tensor.Info
	for _, n := range fp8Scales {
		stem, ok := strings.CutSuffix(info.Name, n.weight)
		if !ok {
			continue
		}
		scale, ok := s.find(stem + n.scale)
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
func (s *set) bindCast(info *tensor.Info, codec asm.Float) (*Weight, error) {
	if slices.ContainsFunc(fp8Methods, func(m method) bool { return m.name == s.config.Method() }) {
		if excluded, err := s.excluded(info.Name); err != nil {
			return nil, err
		} else if !excluded {
			return nil, wire.ErrMissing.Errorf("its scale, which %s promises (quant_method %s)", s.config.File, wire.Quote(s.config.Method()))
		}
	}
	if err := s.scaledOtherwise(info); err != nil {
		return nil, err
	}
	if err := s.elsewhere(info); err != nil {
		return nil, err
	}
	cols := int64(1)
	if len(info.Shape) > 0 {
		cols = info.Shape[len(info.Shape)-1]
	}
	return &Weight{
		Name: info.Name, Shape: info.Shape, Parts: []tensor.Info{*info}, Layout: info.DType.String() + ", no scale",
		form: &form.BlockForm{Cols: cols, Codes: form.Float8Row(cols, codec)},
	}, nil
}
