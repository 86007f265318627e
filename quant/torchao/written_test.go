package torchao_test

import (
	"fmt"
	"iter"
	"maps"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// torchao's metadata names modules, which transformers calls otherwise than the file does for some types.
func TestRenamedTypesInTorchao(t *testing.T) {
	matrix := converttest.Typed{Shape: []int64{128, 128}, Plain: "BF16"}
	tensors := map[string]converttest.Typed{"encoder.layer.0.attention.attention.query.weight": matrix, "model.layers.0.self_attn.q_proj.weight": matrix}
	for _, c := range []struct {
		kind, to string
		breaks   bool
	}{{"vit", "torchao_int8", true}, {"vit", "torchao_fp8", true}, {"vit", "w8a8", false}, {"llama", "torchao_int8", false}} {
		b := converttest.Account(t)
		p, err := convert.NewPlan(b, converttest.TypedModel(t, b, c.kind, tensors), convert.Options{Quantize: converttest.To(t, c.to), Sink: convert.Safetensors{}})
		if err != nil || (p.Quantized.BreaksAgain != "") != c.breaks {
			t.Errorf("%s to %s: %v", c.kind, c.to, err)
		}
	}
}

// withMeta is a model of a safetensors file with metadata.
type withMeta struct {
	tensor.Model
	meta map[string]any
}

func (m withMeta) Format() string { return safetensors.Format }

func (m withMeta) Meta() iter.Seq2[string, any] { return maps.All(m.meta) }

// Metadata of the source stay, but under names that descriptions of weights need.
func TestMetadataOfTheSourceAreKeptWithThoseOfTorchAO(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m := converttest.Source(t, map[string][]float32{"m.weight": converttest.Wave(64 * 128)}, map[string][]int64{"m.weight": {64, 128}})
	out, _, err := converttest.Store(t, b, withMeta{m, map[string]any{"note": "kept", "tensor_names": "of another file"}}, converttest.To(t, "torchao_int8"), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for k, v := range out.Meta() {
		got[k] = v
	}
	if got["note"] != "kept" || got["tensor_names"] != `["m.weight"]` || !strings.Contains(fmt.Sprint(got["m.weight"]), "Int8Tensor") {
		t.Error(got)
	}
}
