package mistral

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/fp8"
)

// Scheme has priority over FP8, which takes a weight without a known scale for a
// plain cast.
var Scheme = scheme.Scheme{
	Name: "Mistral FP8", Stores: "E4M3 under Mistral's own names, one scale or blocks", Oracle: "transformers",
	Goldens: []string{"mistral-fp8*"}, Bind: bind,
	Priority: 1,
	Methods:  []scheme.Method{fp8.Method},
	Mains:    []scheme.Main{{Codes: ".weight", Parts: []string{".qscale_weight"}}},
	Scales:   []string{".qscale_weight"},
	Explains: []string{".qscale_act"},
}

// bind binds the weights of Mistral's own files, whose scale multiplies.
func bind(s *scheme.Set, info *tensor.Info) (*scheme.Weight, error) {
	stem, ok := scheme.Suffix(info, ".weight")
	scale, scaled := s.Find(stem + ".qscale_weight")
	if !ok || !scaled || info.DType != tensor.F8E4M3 {
		return nil, nil
	}
	g, layout, err := s.ScaleGrid(info, scale)
	if err != nil {
		return nil, err
	}
	codec, _ := form.Float8Of(info.DType)
	cols := info.Shape[len(info.Shape)-1]
	return &scheme.Weight{
		Name: info.Name, Shape: info.Shape, Layout: scheme.WithType(layout, scale), Parts: []tensor.Info{*info, *scale},
		Form: &form.Scaled{Cols: cols, Codes: form.Float8Row(cols, codec), Scales: g},
	}, nil
}
