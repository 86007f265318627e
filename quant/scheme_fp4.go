package quant

import (
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An fp4Name is one naming of 4-bit floats: the tensor of codes, its scales, and the
// global scale.
type fp4Name struct {
	codes, name   string // suffix of the codes, and of the weight's name
	types         []tensor.DType
	scales        string
	global        string
	divides, plus bool // the global scale divides; code 8 is plus zero
}

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
var nvfp4Names = [...]fp4Name{
	{codes: ".weight_packed", name: ".weight", types: []tensor.DType{tensor.U8}, scales: ".weight_scale", global: ".weight_global_scale", divides: true},
	{codes: ".weight", name: ".weight", types: []tensor.DType{tensor.U8}, scales: ".weight_scale", global: ".weight_scale_2", plus: true},
}

// bindNVFP4 binds the layouts of compressed-tensors and of ModelOpt.
func bindNVFP4(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	if w, err := bindFused(s, info); w != nil || err != nil {
		return w, err
	}
	for _, n := range nvfp4Names {
		stem, scales, ok := fp4(s, info, n)
		if !ok || scales.DType != tensor.F8E4M3 {
			continue
		}
		_, has := s.Find(stem + n.global)
		if !has {
			return nil, wire.ErrMissing.Errorf("its companion %s", wire.Quote(stem+n.global))
		}
		for _, other := range nvfp4Names {
			if also, has := s.Find(stem + other.global); has && other.global != n.global {
				return nil, wire.ErrUnsupported.Errorf("two readings: %s and %s are there, of which one divides and one multiplies",
					wire.Quote(stem+n.global), wire.Quote(also.Name))
			}
		}
		w, f, err := fp4Weight(s, info, scales, stem+n.name, unpackedShape(info.Shape), 16)
		if err != nil {
			return nil, err
		}
		global, err := globalGrid(s, w, stem+n.global)
		if err != nil {
			return nil, err
		}
		f.Global, f.Divides = global, n.divides
		if n.plus {
			f.Codes = form.Fp4PlusRow(f.Cols)
		}
		w.Layout = "16-value blocks"
		return w, nil
	}
	return nil, nil
}

// mxfp4Names are the namings of MXFP4: E2M1 in groups of 32 under E8M0 scales.
var mxfp4Names = [...]fp4Name{
	{codes: ".weight_packed", name: ".weight", types: []tensor.DType{tensor.U8}, scales: ".weight_scale"},
	{codes: ".weight", name: ".weight", types: []tensor.DType{tensor.U8}, scales: ".weight_scale"},
	{codes: ".weight", name: ".weight", types: []tensor.DType{tensor.I8}, scales: ".scale", plus: true},
	{codes: "_blocks", types: []tensor.DType{tensor.U8}, scales: "_scales"},
	{codes: ".blocks", types: []tensor.DType{tensor.U8}, scales: ".scales"},
}

// bindMXFP4 binds the layouts of compressed-tensors, Quark and ModelOpt, DeepSeek-V4's
// experts, and gpt-oss, whose blocks are a dimension of their own.
func bindMXFP4(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	for _, n := range mxfp4Names {
		stem, scales, ok := fp4(s, info, n)
		exponents := []tensor.DType{tensor.U8, tensor.F8E8M0}
		if !ok || !slices.Contains(exponents, scales.DType) || scales.Elements() == 1 {
			continue
		}
		shape := unpackedShape(info.Shape)
		if blocks := len(shape); n.name == "" && blocks >= 2 {
			if shape[blocks-1] != 32 {
				return nil, wire.ErrMismatch.Errorf("blocks of %d bytes, expected 16", info.Shape[blocks-1])
			}
			shape = append(shape[:blocks-2:blocks-2], shape[blocks-2]*32)
		}
		w, f, err := fp4Weight(s, info, scales, stem+n.name, shape, 32)
		if err != nil {
			return nil, err
		}
		if n.plus {
			f.Codes = form.Fp4PlusRow(f.Cols)
		}
		w.Layout = "32-value blocks"
		return w, nil
	}
	return nil, nil
}

// fp4 matches a tensor with one naming.
func fp4(s *scheme.Set, info *tensor.Info, n fp4Name) (stem string, scales *tensor.Info, ok bool) {
	stem, ok = scheme.Suffix(info, n.codes)
	if !ok || !slices.Contains(n.types, info.DType) || len(info.Shape) < 2 {
		return "", nil, false
	}
	scales, ok = s.Find(stem + n.scales)
	return stem, scales, ok
}

// fp4Weight returns a weight of codes, two a byte, with one scale per group of a row.
func fp4Weight(s *scheme.Set, info, scales *tensor.Info, name string, shape []int64, group int64) (*scheme.Weight, *form.Scaled, error) {
	cols := shape[len(shape)-1]
	want := append(slices.Clone(shape[:len(shape)-1]), cols/group)
	if cols%group != 0 || cols == 0 || !scheme.Shaped(scales.Shape, want) {
		return nil, nil, scheme.Mismatch(info, scales)
	}
	read, size, err := scheme.ScaleNumber(scales)
	if scales.DType == tensor.F8E4M3 {
		read, size, err = form.Numbers[tensor.F8E4M3], 1, nil
	}
	if err != nil {
		return nil, nil, err
	}
	rows := info.Elements() * 2 / cols
	f := &form.Scaled{Cols: cols, Codes: form.Fp4Row(cols), Scales: form.GroupGrid(rows, cols, group, size, read)}
	f.Scales.Bulk = form.BulkOf(scales.DType)
	return &scheme.Weight{Name: name, Shape: shape, Parts: []tensor.Info{*info, *scales}, Form: f}, f, nil
}

// unpackedShape doubles the last dimension, since a byte holds two codes.
func unpackedShape(shape []int64) []int64 {
	out := slices.Clone(shape)
	out[len(out)-1] *= 2
	return out
}

// globalGrid binds a global scale: one number, or one per matrix of a stack.
func globalGrid(s *scheme.Set, w *scheme.Weight, name string) (*form.Grid, error) {
	info, ok := s.Find(name)
	if !ok {
		return nil, wire.ErrMissing.Errorf("its companion %s", wire.Quote(name))
	}
	if info.DType != tensor.F32 {
		return nil, wire.ErrUnsupported.Errorf("its companion %s is %s", wire.Quote(name), info.TypeName())
	}
	n, _ := wire.Product(w.Shape[:len(w.Shape)-1])
	rows := int64(n)
	g := &form.Grid{MatrixRows: rows, BlockRows: rows, BlockCols: w.Shape[len(w.Shape)-1], Cols: 1, Size: 4, Read: form.Numbers[tensor.F32]}
	switch {
	case info.Elements() == 1:
	case len(w.Shape) == 3 && info.Elements() == w.Shape[0]:
		g.MatrixRows, g.BlockRows = w.Shape[1], w.Shape[1]
	default:
		return nil, wire.ErrMismatch.Errorf("its companion %s has shape %v beside %v", wire.Quote(name), info.Shape, w.Shape)
	}
	w.Parts = append(w.Parts, *info)
	return g, nil
}

func describe(bits, group int64) string { return fmt.Sprintf("%d bits, groups of %d", bits, group) }
