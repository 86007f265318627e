package gemma

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

var Scheme = scheme.Scheme{
	Name: "Gemma", Stores: "2, 4, 8 bits and embeddings", Oracle: "transformers",
	Goldens: []string{"gemma-*"}, Bind: bind,
	Declares: scheme.ByMethod, Priority: 1,
	Methods: []scheme.Method{{Name: "gemma", Known: keys}},
	Mains: []scheme.Main{
		{Codes: ".weight", Parts: []string{".weight_scale"}},
		{Codes: ".embedding_quantized", Parts: []string{".embedding_scale"}},
	},
	Scales:   []string{"_scale"},
	Cache:    true,
	Explains: []string{".input_activation_scale", ".output_activation_scale"},
}

// bind binds Gemma's integers of two, four and eight bits under a scale per row, and
// its embeddings under a scale per block of columns.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	if len(info.Shape) != 2 || info.DType != tensor.U8 && info.DType != tensor.I8 {
		return nil, nil
	}
	name, scaleName := info.Name, ""
	if stem, ok := scheme.Suffix(info, ".weight"); ok {
		scaleName = stem + ".weight_scale"
	} else if stem, ok := scheme.Suffix(info, ".embedding_quantized"); ok {
		name, scaleName = stem+".weight", stem+".embedding_scale"
	} else {
		return nil, nil
	}
	scales, err := s.Companion(scaleName, []int64{info.Shape[0], -1}, tensor.F32)
	if err != nil {
		return nil, err
	}
	bits, cols, codes, err := codesOf(s, info)
	if err != nil {
		return nil, err
	}
	blocks := scales.Shape[1]
	if blocks == 0 || cols%blocks != 0 {
		return nil, scheme.Mismatch(info, scales)
	}
	rows := info.Shape[0]
	return &scheme.Weight{
		Name: name, Shape: []int64{rows, cols}, Layout: scheme.Describe(bits, cols/blocks), Parts: []tensor.Info{*info, *scales},
		Form: &form.Scaled{Cols: cols, Codes: codes, Scales: form.GroupGrid(rows, cols, cols/blocks, 4, form.Numbers[tensor.F32])},
	}, nil
}

// codesOf returns the width of a module's codes. For codes packed in bytes only the
// configuration tells it.
func codesOf(s *scheme.Set, info *tensor.Info) (bits, cols int64, c form.Codes, err error) {
	stored := info.Shape[1]
	if info.DType == tensor.I8 {
		return 8, stored, form.Int8Row(stored), nil
	}
	bits, err = bitsOf(s, info.Name)
	if err != nil {
		return 0, 0, c, err
	}
	if !slices.Contains([]int64{2, 4}, bits) {
		return 0, 0, c, wire.ErrMismatch.Errorf("%s says %d bits for bytes without sign", s.Config.File, bits)
	}
	cols = stored * 8 / bits
	return bits, cols, form.StreamRow(cols, bits, stored, int32(1)<<(bits-1)), nil
}

// bitsOf returns the bits in the configuration: of the first pattern that matches the
// module's name, else the default.
func bitsOf(s *scheme.Set, name string) (int64, error) {
	module := strings.TrimSuffix(strings.TrimSuffix(name, ".weight"), ".embedding_quantized")
	patterns := s.Config.Quant.Within("module_quant_configs")
	bits, found, err := s.Number("num_bits", s.Config.Quant.Get("num_bits"))
	if err != nil {
		return 0, err
	}
	first := len(module) + 1
	for _, pattern := range patterns.Names() {
		at, err := s.Place(pattern, module)
		if err != nil {
			return 0, err
		}
		if at < 0 || at >= first {
			continue
		}
		first = at
		n, ok, err := s.Number("num_bits", patterns.Within(pattern).Get("num_bits"))
		if err != nil {
			return 0, err
		}
		if ok {
			bits, found = n, true
		}
	}
	if !found {
		return 0, wire.ErrMissing.Errorf("num_bits for %s in %s", wire.Quote(name), s.Config.File)
	}
	return bits, nil
}

// keys are those of its configuration.
var keys = []string{"num_bits", "module_quant_configs.*.num_bits", "quantize_embeddings"}
