package mxfp4

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/autoround"
	"github.com/anamnesis-go/anamnesis/quant/compressed"
	"github.com/anamnesis-go/anamnesis/quant/fp8"
	"github.com/anamnesis-go/anamnesis/quant/modelopt"
	"github.com/anamnesis-go/anamnesis/quant/quark"
)

var Scheme = scheme.Scheme{
	Name: "MXFP4", Stores: "gpt-oss, Quark, ModelOpt, compressed-tensors, DeepSeek-V4 experts", Oracle: "transformers, ModelOpt, Quark",
	Goldens: []string{"mxfp4-*"}, Bind: bind,
	Methods: autoround.Methods(scheme.Method{Name: "mxfp4", Known: keys}, fp8.Method, compressed.Method, modelopt.Method,
		quark.Method),
	Mains: []scheme.Main{
		{Codes: ".weight_packed", Parts: []string{".weight_scale"}, Only: true},
		{Codes: "_proj_blocks", Parts: []string{"_proj_scales"}, Only: true},
		{Codes: ".weight", Parts: []string{".weight_scale", ".scale"}},
		{Codes: "_blocks", Parts: []string{"_scales"}},
		{Codes: ".blocks", Parts: []string{".scales"}},
	},
	Scales:   []string{"_scale", ".scale", "_scales", ".scales"},
	Explains: []string{".input_scale"},
}

// names are the namings of MXFP4: E2M1 in groups of 32 under E8M0 scales.
var names = [...]scheme.Fp4Name{
	{Codes: ".weight_packed", Name: ".weight", Types: []tensor.DType{tensor.U8}, Scales: ".weight_scale"},
	{Codes: ".weight", Name: ".weight", Types: []tensor.DType{tensor.U8}, Scales: ".weight_scale"},
	{Codes: ".weight", Name: ".weight", Types: []tensor.DType{tensor.I8}, Scales: ".scale", Plus: true},
	{Codes: "_blocks", Types: []tensor.DType{tensor.U8}, Scales: "_scales"},
	{Codes: ".blocks", Types: []tensor.DType{tensor.U8}, Scales: ".scales"},
}

// bind binds the layouts of compressed-tensors, Quark and ModelOpt, DeepSeek-V4's
// experts, and gpt-oss, whose blocks are a dimension of their own.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	for _, n := range names {
		stem, scales, ok := s.Fp4(info, n)
		exponents := []tensor.DType{tensor.U8, tensor.F8E8M0}
		if !ok || !slices.Contains(exponents, scales.DType) || scales.Elements() == 1 {
			continue
		}
		shape := scheme.UnpackedShape(info.Shape)
		if blocks := len(shape); n.Name == "" && blocks >= 2 {
			if shape[blocks-1] != 32 {
				return nil, wire.ErrMismatch.Errorf("blocks of %d bytes, expected 16", info.Shape[blocks-1])
			}
			shape = append(shape[:blocks-2:blocks-2], shape[blocks-2]*32)
		}
		w, f, err := s.Fp4Weight(info, scales, stem+n.Name, shape, 32)
		if err != nil {
			return nil, err
		}
		if n.Plus {
			f.Codes = form.Fp4PlusRow(f.Cols)
		}
		w.Layout = "32-value blocks"
		return w, nil
	}
	return nil, nil
}

// keys are those of its configuration.
var keys = []string{"swiglu_limit", "use_kernels"}

// Turn transposes the experts of gpt-oss.
func Turn(s *scheme.Set, w *scheme.Weight) error {
	stem, blocks := strings.CutSuffix(w.Parts[0].Name, "_blocks")
	if !s.Options.Folder || len(w.Shape) < 2 || !blocks || stem != w.Name {
		return nil
	}
	return scheme.Flip(w, s.Budget)
}
