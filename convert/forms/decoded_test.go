package forms_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
)

// A folder that is quantized becomes in one step what it becomes in two: its weights
// decoded first.
func TestQuantizedFoldersBecomeGGUFInOneStep(t *testing.T) {
	for name, q := range map[string]convert.Quantizer{
		"FP8 in blocks": converttest.To(t, "fp8"),
		"GPTQ":          converttest.To(t, "gptq"),
		"AWQ":           converttest.To(t, "awq"),
		"MLX":           converttest.To(t, "mlx_4"),
		"NF4":           bnb.Layout{Type: bnb.NF4},
	} {
		t.Run(name, func(t *testing.T) {
			b := converttest.Account(t)
			source := converttest.Folder(t, b, converttest.LlamaOf(t, b, converttest.WideConfig, "", 64), convert.Options{Quantize: q, Shard: 1 << 30})
			plain := converttest.Folder(t, b, source, convert.Options{Quant: quant.Options{Folder: true, Target: quant.F16}, Shard: 1 << 30})
			for _, threads := range []int{1, 3} {
				o := convert.Options{Sink: convert.GGUF{}, Threads: threads, Tile: 1000 * threads, Quant: quant.Options{Target: quant.F16}}
				m, err := forms.LlamaCPP{Pre: "default", Quant: o.Quant}.Model(b, source)
				if err != nil {
					t.Fatal(err)
				}
				want, err := forms.LlamaCPP{Pre: "default"}.Model(b, plain)
				if err != nil {
					t.Fatal(err)
				}
				once, twice := converttest.Run(t, b, m, o), converttest.Run(t, b, want, o)
				if diff := cmp.Diff(bodiesOf(t, b, twice), bodiesOf(t, b, once)); diff != "" {
					t.Error(diff)
				}
				if got := keyOf(t, b, once, "general.quantization_version"); got != uint32(2) {
					t.Errorf("general.quantization_version: %v", got)
				}
			}
		})
	}
}

// bodiesOf reads the tensors of a GGUF file.
func bodiesOf(t *testing.T, b *limits.Budget, file []byte) map[string]string {
	t.Helper()
	f, err := gguf.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return converttest.Stored(t, b, f)
}

// keyOf is a value of a GGUF file.
func keyOf(t *testing.T, b *limits.Budget, file []byte, key string) any {
	t.Helper()
	f, err := gguf.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range f.Meta() {
		if k == key {
			return v
		}
	}
	return nil
}

// Weights that are already quantized are quantized again only on request.
func TestQuantizedWeightsAreQuantizedAgainOnlyOnRequest(t *testing.T) {
	b := converttest.Account(t)
	source := converttest.Folder(t, b, converttest.LlamaOf(t, b, converttest.WideConfig, "", 64), convert.Options{Quantize: converttest.To(t, "fp8"), Shard: 1 << 30})
	m, err := forms.LlamaCPP{Pre: "default"}.Model(b, source)
	if err != nil {
		t.Fatal(err)
	}
	o := convert.Options{Sink: convert.GGUF{}, Quantize: ggml.Quantizer{Mix: converttest.Mix(t, "q4_k_m")}}
	if _, err := convert.NewPlan(b, m, o); wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "already FP8") {
		t.Error(err)
	}
	o.Requantize = true
	p, err := convert.NewPlan(b, m, o)
	if err != nil {
		t.Fatal(err)
	}
	if !p.Stores(tensor.Q4_K) || len(p.Read) != 7 {
		t.Errorf("%d weights are decoded", len(p.Read))
	}
}

// A single file of a quantized folder follows the same rules: it is refused if a scale is missing.
func TestAQuantizedFolderWithoutAScaleIsRefused(t *testing.T) {
	b := converttest.Account(t)
	keep := func(name string) bool { return name != "model.layers.0.mlp.up_proj.weight_scale_inv" }
	whole := converttest.Folder(t, b, converttest.LlamaOf(t, b, converttest.WideConfig, "", 64), convert.Options{Quantize: converttest.To(t, "fp8"), Shard: 1 << 30})
	p, err := convert.NewPlan(b, whole, convert.Options{AsIs: true, Keep: keep})
	if err != nil {
		t.Fatal(err)
	}
	out := converttest.NewMemory(p.Size)
	if _, err := p.Stream(out); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Decode(b, bytes.NewReader(out.Bytes), int64(len(out.Bytes)))
	if err != nil {
		t.Fatal(err)
	}
	f.Folder = whole.Configs()
	if _, err := (forms.LlamaCPP{Pre: "default"}).Model(b, f); wire.ClassOf(err) != wire.Malformed {
		t.Error(err)
	}
}
