package quant

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var nvfp4Scheme = scheme.Scheme{
	Name: "NVFP4", Stores: "compressed-tensors and AutoRound (global scale divides), ModelOpt (it multiplies), fused experts", Oracle: "compressed-tensors, ModelOpt",
	Goldens: []string{"nvfp4-*"}, Bind: bindNVFP4,
	Methods: autoRoundMethods(scheme.Method{Name: "compressed-tensors", Known: compressedKeys}, scheme.Method{Name: "modelopt", Known: modeloptKeys}, scheme.Method{Name: "nvfp4"}, scheme.Method{Name: "bfl", Known: bflKeys}),
	Mains: []scheme.Main{
		{Codes: ".weight_packed", Parts: []string{".weight_scale", ".weight_global_scale"}, Only: true},
		{Codes: ".weight", Parts: []string{".weight_scale", ".weight_scale_2"}},
		{Codes: "", Parts: []string{"_weight_scale", "_weight_scale_2", "_scale_2"}},
	},
	Scales:   []string{"_scale", "_scale_2"},
	Explains: []string{".input_scale", ".input_global_scale", "_input_scale"},
}

var mxfp4Scheme = scheme.Scheme{
	Name: "MXFP4", Stores: "gpt-oss, Quark, ModelOpt, compressed-tensors, DeepSeek-V4 experts", Oracle: "transformers, ModelOpt, Quark",
	Goldens: []string{"mxfp4-*"}, Bind: bindMXFP4,
	Methods: autoRoundMethods(scheme.Method{Name: "mxfp4", Known: mxfp4Keys}, scheme.Method{Name: "fp8", Known: fp8Keys}, scheme.Method{Name: "compressed-tensors", Known: compressedKeys}, scheme.Method{Name: "modelopt", Known: modeloptKeys},
		scheme.Method{Name: "quark", Known: quarkKeys}),
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

// nvfp4Names are the namings of NVFP4: E2M1 in groups of 16 under E4M3 scales. The global
// scales of the two libraries are reciprocals of each other.
var nvfp4Names = [...]scheme.Fp4Name{
	{Codes: ".weight_packed", Name: ".weight", Types: []tensor.DType{tensor.U8}, Scales: ".weight_scale", Global: ".weight_global_scale", Divides: true},
	{Codes: ".weight", Name: ".weight", Types: []tensor.DType{tensor.U8}, Scales: ".weight_scale", Global: ".weight_scale_2", Plus: true},
}

// bindNVFP4 binds the layouts of compressed-tensors and of ModelOpt.
func bindNVFP4(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	if w, err := bindFused(s, info); w != nil || err != nil {
		return w, err
	}
	for _, n := range nvfp4Names {
		stem, scales, ok := s.Fp4(info, n)
		if !ok || scales.DType != tensor.F8E4M3 {
			continue
		}
		_, has := s.Find(stem + n.Global)
		if !has {
			return nil, wire.ErrMissing.Errorf("its companion %s", wire.Quote(stem+n.Global))
		}
		for _, other := range nvfp4Names {
			if also, has := s.Find(stem + other.Global); has && other.Global != n.Global {
				return nil, wire.ErrUnsupported.Errorf("two readings: %s and %s are there, of which one divides and one multiplies",
					wire.Quote(stem+n.Global), wire.Quote(also.Name))
			}
		}
		w, f, err := s.Fp4Weight(info, scales, stem+n.Name, scheme.UnpackedShape(info.Shape), 16)
		if err != nil {
			return nil, err
		}
		global, err := s.GlobalGrid(w, stem+n.Global)
		if err != nil {
			return nil, err
		}
		f.Global, f.Divides = global, n.Divides
		if n.Plus {
			f.Codes = form.Fp4PlusRow(f.Cols)
		}
		w.Layout = "16-value blocks"
		return w, nil
	}
	return nil, nil
}

// mxfp4Names are the namings of MXFP4: E2M1 in groups of 32 under E8M0 scales.
var mxfp4Names = [...]scheme.Fp4Name{
	{Codes: ".weight_packed", Name: ".weight", Types: []tensor.DType{tensor.U8}, Scales: ".weight_scale"},
	{Codes: ".weight", Name: ".weight", Types: []tensor.DType{tensor.U8}, Scales: ".weight_scale"},
	{Codes: ".weight", Name: ".weight", Types: []tensor.DType{tensor.I8}, Scales: ".scale", Plus: true},
	{Codes: "_blocks", Types: []tensor.DType{tensor.U8}, Scales: "_scales"},
	{Codes: ".blocks", Types: []tensor.DType{tensor.U8}, Scales: ".scales"},
}

// bindMXFP4 binds the layouts of compressed-tensors, Quark and ModelOpt, DeepSeek-V4's
// experts, and gpt-oss, whose blocks are a dimension of their own.
func bindMXFP4(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	for _, n := range mxfp4Names {
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
