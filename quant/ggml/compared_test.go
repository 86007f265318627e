package ggml_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
)

// Mixes of a GGUF model weigh the error by importance where there is a matrix.
func TestComparedMixes(t *testing.T) {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	b.Source(1 << 30)
	m := converttest.TinyLlama(t, b, 2, 256)
	matrix := converttest.Importance(t, b, "blk.1.ffn_down.weight", 256)
	var list []ggml.Quantizer
	all := convert.NewComparison(b)
	for _, name := range []string{"q4_k_m", "iq4_xs", "q8_0"} {
		for _, x := range []*ggml.Importance{nil, matrix} {
			q := ggml.Quantizer{Mix: converttest.Mix(t, name), Matrix: x, Measure: true}
			if err := all.Add(m, convert.Options{Sink: convert.GGUF{RawNames: true}, Quantize: q}, nil); err != nil {
				t.Fatal(err)
			}
			list = append(list, q)
		}
	}
	if err := all.Measure(); err != nil {
		t.Fatal(err)
	}
	for i, p := range all.Plans {
		want, _, _ := converttest.ToGGUF(t, b, m, list[i], 3, 1)
		for k, w := range want.Quantized.Weights {
			got := p.Quantized.Weights[k]
			weighed := i%2 == 1 && w.Name == "blk.1.ffn_down.weight"
			if got.Lost != w.Lost || got.Weighed != w.Weighed || (w.Weighed.N > 0) != weighed || weighed && w.Weighed.Square == w.Lost.Square {
				t.Errorf("%d, %s: %+v, written %+v", i, w.Name, got, w)
			}
		}
	}
}
