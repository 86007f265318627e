package convert_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
	"github.com/google/go-cmp/cmp"
)

// wideConfig is that of llamaOf with each dimension 64 times as large.
var wideConfig = strings.NewReplacer(`_size": 3`, `_size": 192`, `_size": 4`, `_size": 256`, `_size": 6`, `_size": 384`, `_dim": 4`, `_dim": 256`).Replace(llamaConfig)

// folderOf writes a model with its config.json and opens it again.
func folderOf(t *testing.T, b *limits.Budget, m tensor.Model, o convert.Options) tensor.Model {
	t.Helper()
	p, err := convert.NewPlan(b, m, o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/out"
	if _, err := p.WriteFolder(dir, false, false); err != nil {
		t.Fatal(err)
	}
	f, err := parser.Open(b, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// quantizerTo is the quantizer that writes a target of codes and scales.
func quantizerTo(t testing.TB, name string, choices ...convert.Choices) convert.Quantizer {
	t.Helper()
	to, ok := quant.TargetNamed(name)
	if !ok || to.Layout() == "" {
		t.Fatalf("no format is called %q", name)
	}
	if len(choices) == 0 {
		return to.Quantizer(convert.Choices{})
	}
	return to.Quantizer(choices[0])
}

var measuring = convert.Choices{Measure: true}

// formats are those of targets with a scale for each block, groupFormats those in groups.
func formats() []scaled.Format {
	list, _ := encode.Formats(quant.Targets())
	return list
}

func groupFormats() []scaled.Groups {
	_, list := encode.Formats(quant.Targets())
	return list
}

// A folder that is quantized becomes in one step what it becomes in two: its weights
// decoded first.
func TestQuantizedFoldersBecomeGGUFInOneStep(t *testing.T) {
	for name, q := range map[string]convert.Quantizer{
		"FP8 in blocks": quantizerTo(t, "fp8"),
		"GPTQ":          quantizerTo(t, "gptq"),
		"AWQ":           quantizerTo(t, "awq"),
		"MLX":           quantizerTo(t, "mlx_4"),
		"NF4":           bnb.Layout{Type: bnb.NF4},
	} {
		t.Run(name, func(t *testing.T) {
			b := account(t)
			source := folderOf(t, b, llamaOf(t, b, wideConfig, "", 64), convert.Options{Quantize: q, Shard: 1 << 30})
			plain := folderOf(t, b, source, convert.Options{Quant: quant.Options{Folder: true, Target: quant.F16}, Shard: 1 << 30})
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
				once, twice := run(t, b, m, o), run(t, b, want, o)
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
	return stored(t, b, f)
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

// Weights that are quantized already are quantized anew at the caller's word alone.
func TestQuantizedWeightsAreQuantizedAgainOnlyOnRequest(t *testing.T) {
	b := account(t)
	source := folderOf(t, b, llamaOf(t, b, wideConfig, "", 64), convert.Options{Quantize: quantizerTo(t, "fp8"), Shard: 1 << 30})
	m, err := forms.LlamaCPP{Pre: "default"}.Model(b, source)
	if err != nil {
		t.Fatal(err)
	}
	o := convert.Options{Sink: convert.GGUF{}, Quantize: ggml.Quantizer{Mix: named(t, "q4_k_m")}}
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

// What a file says of a quantized folder's parts is held to the same rules: a scale
// that is missing refuses it.
func TestAQuantizedFolderWithoutAScaleIsRefused(t *testing.T) {
	b := account(t)
	keep := func(name string) bool { return name != "model.layers.0.mlp.up_proj.weight_scale_inv" }
	whole := folderOf(t, b, llamaOf(t, b, wideConfig, "", 64), convert.Options{Quantize: quantizerTo(t, "fp8"), Shard: 1 << 30})
	p, err := convert.NewPlan(b, whole, convert.Options{AsIs: true, Keep: keep})
	if err != nil {
		t.Fatal(err)
	}
	out := &inMemory{make([]byte, p.Size)}
	if _, err := p.Stream(out); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Decode(b, bytes.NewReader(out.p), int64(len(out.p)))
	if err != nil {
		t.Fatal(err)
	}
	f.Folder = whole.Configs()
	if _, err := (forms.LlamaCPP{Pre: "default"}).Model(b, f); wire.ClassOf(err) != wire.Malformed {
		t.Error(err)
	}
}
