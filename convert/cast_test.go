package convert_test

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Tensors that nothing quantized are rounded as torch rounds them.
func TestCastsAreThoseOfTorch(t *testing.T) {
	const folder = "../testdata/convert/"
	for name, to := range map[string]quant.Target{"bf16": quant.BF16, "f16": quant.F16, "f32": quant.F32} {
		m, b := converttest.Open(t, folder+"cast.safetensors")
		p, err := convert.NewPlan(b, m, convert.Options{Quant: quant.Options{Target: to}, Cast: func(*tensor.Info) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "out.safetensors")
		if _, err := p.Write(path, false); err != nil {
			t.Fatal(err)
		}
		want, got := bodies(t, folder+"cast-"+name+".safetensors"), bodies(t, path)
		if len(want) != len(got) {
			t.Errorf("%s: %d tensors, not %d", name, len(got), len(want))
		}
		for k, body := range want {
			if !bytes.Equal(got[k], body) {
				t.Errorf("%s %s: other bytes than torch's", name, k)
			}
		}
	}
}

// bodies are the bytes of a model's tensors, by name and type.
func bodies(t *testing.T, path string) map[string][]byte {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := parser.Open(b, path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	all := map[string][]byte{}
	for i := range m.Tensors() {
		r, err := m.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		if all[i.Name+" "+i.TypeName()], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return all
}

func TestNormsAreKnownByTheirNames(t *testing.T) {
	for name, want := range map[string]bool{
		"model.layers.0.input_layernorm.weight": true, "transformer.h.0.ln_1.bias": true, "ln_f.weight": true, "norm.weight": true,
		"model.layers.0.mlp.up_proj.bias": false, "lnx.weight": false, "alnum.bias": false, "blk.0.attn_norm.weight": true,
	} {
		if got := convert.IsNorm(&tensor.Info{Name: name, Shape: []int64{4}}); got != want {
			t.Errorf("%s: %v", name, got)
		}
		if convert.IsNorm(&tensor.Info{Name: name, Shape: []int64{4, 4}}) {
			t.Errorf("%s is a matrix", strings.ToUpper(name))
		}
	}
}
