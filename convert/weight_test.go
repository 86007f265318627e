package convert_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Weights are decoded to what package quant decodes, whose goldens are the
// references', for any number of workers and any tile.
func TestWeightsAreWhatTheirSchemeDecodes(t *testing.T) {
	for _, path := range []string{"../corpus/valid/gguf/types.gguf", "../corpus/valid/gguf/llama.gguf"} {
		for _, to := range []quant.Target{quant.BF16, quant.F16, quant.F32} {
			m, b := converttest.Open(t, path)
			o := convert.Options{Quant: quant.Options{Target: to}}
			want := converttest.Run(t, b, m, o)
			f, err := safetensors.Decode(b, bytes.NewReader(want), int64(len(want)))
			if err != nil {
				t.Fatal(err)
			}
			bound, err := quant.Plan(b, m, o.Quant)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range bound.Weights {
				dst := make([]byte, w.Size(to))
				if err := quant.Decode(b, m, w, dst, to); err != nil {
					t.Fatal(err)
				}
				if got := body(t, f, w.Name); !bytes.Equal(got, dst) {
					t.Errorf("%s: %s to %v: other bytes", path, w.Name, to)
				}
			}
			for _, threads := range []int{1, 2, 7} {
				for _, tile := range []int{1, 100, 1000, 4096, 1 << 22} {
					o.Threads, o.Tile = threads, tile
					if got := converttest.Run(t, b, m, o); !bytes.Equal(got, want) {
						t.Errorf("%s to %v, %d threads, tiles of %d: other bytes", path, to, threads, tile)
					}
				}
			}
		}
	}
}

// body is the bytes of one tensor.
func body(t *testing.T, m tensor.Model, name string) []byte {
	t.Helper()
	all := slices.Collect(m.Tensors())
	i := slices.IndexFunc(all, func(i tensor.Info) bool { return i.Name == name })
	if i < 0 {
		t.Fatalf("no tensor %s", name)
	}
	r, _ := m.At(all[i])
	p := make([]byte, all[i].Span.Len)
	if _, err := r.ReadAt(p, 0); len(p) > 0 && err != nil {
		t.Fatal(err)
	}
	return p
}
