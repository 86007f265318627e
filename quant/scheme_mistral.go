package quant

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// mistralScheme has priority over FP8, which takes a weight without a known scale for a
// plain cast.
var mistralScheme = scheme{
	name: "Mistral FP8", stores: "E4M3 under Mistral's own names, one scale or blocks", oracle: "transformers",
	goldens: []string{"mistral-fp8*"}, bind: bindMistral,
	priority: 1,
	methods:  []method{{"fp8", fp8Keys}},
	mains:    []main{{codes: ".weight", parts: []string{".qscale_weight"}}},
	scales:   []string{".qscale_weight"},
	explains: []string{".qscale_act"},
}

// bindMistral binds the weights of Mistral's own files, whose scale multiplies.
func bindMistral(s *set, info *tensor.Info) (*Weight, error) {
	stem, ok := suffix(info, ".weight")
	scale, scaled := s.find(stem + ".qscale_weight")
	if !ok || !scaled || info.DType != tensor.F8E4M3 {
		return nil, nil
	}
	g, layout, err := s.scaleGrid(info, scale)
	if err != nil {
		return nil, err
	}
	codec, _ := fp8Codec(info.DType)
	cols := info.Shape[len(info.Shape)-1]
	return &Weight{
		Name: info.Name, Shape: info.Shape, Layout: withType(layout, scale), Parts: []tensor.Info{*info, *scale},
		form: &form.Scaled{Cols: cols, Codes: form.Float8Row(cols, codec), Scales: g},
	}, nil
}
