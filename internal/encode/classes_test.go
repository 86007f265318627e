package encode_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// The classes of a type differ in which linear modules transformers leaves alone: the class in
// architectures decides. The names are those of transformers 5.23's own dry run.
func TestTheClassDecides(t *testing.T) {
	matrix := converttest.Typed{Shape: []int64{64, 64}, Plain: "F16"}
	for _, c := range []struct {
		kind, class, name string
		taken             bool
	}{
		{"layoutlmv3", "LayoutLMv3Model", "encoder.rel_pos_y_bias.weight", false},
		{"layoutlmv3", "LayoutLMv3ForTokenClassification", "layoutlmv3.encoder.rel_pos_y_bias.weight", false}, // its numbers are read
		{"llama", "LlamaForTokenClassification", "score.weight", true},
		{"llama", "LlamaForSequenceClassification", "score.weight", false},
		{"qwen3", "Qwen3ForTokenClassification", "score.weight", true},
		{"qwen3", "Qwen3ForSequenceClassification", "score.weight", false},
		{"olmo", "OlmoModel", "layers.0.mlp.down_proj.weight", true},
		{"olmo", "OlmoModel", "layers.1.mlp.down_proj.weight", false}, // the last module
		{"olmo", "OlmoForCausalLM", "layers.1.mlp.down_proj.weight", true},
		{"mobilebert", "MobileBertForMaskedLM", "cls.predictions.dense.weight", false},
		// A head that shares the embedding's numbers is the last module, and no file has it.
		{"gemma3n_text", "Gemma3nForCausalLM", "model.altup_unembed_projections.2.weight", true},
		{"gemma3n_text", "Gemma3nTextModel", "altup_unembed_projections.2.weight", false},
		{"voxtral_realtime", "VoxtralRealtimeForConditionalGeneration", "multi_modal_projector.linear_2.weight", true},
		{"voxtral_realtime", "VoxtralRealtimeModel", "multi_modal_projector.linear_2.weight", false},
	} {
		tensors := map[string]converttest.Typed{c.name: matrix}
		for _, also := range []string{"layers.0.mlp.down_proj.weight", "layers.1.mlp.down_proj.weight", "encoder.layer.0.attention.self.query.weight"} {
			tensors[also] = matrix
		}
		m := converttest.TypedModel(t, converttest.Account(t), c.kind, tensors)
		m = converttest.WithConfig(m, `{"architectures": ["`+c.class+`"], "model_type": "`+c.kind+`"}`)
		_, p, err := converttest.Quantized(t, m, bnb.Layout{}, 1, 0)
		if err != nil {
			t.Errorf("%s: %v", c.class, err)
			continue
		}
		q := p.Quantized
		if taken := slices.ContainsFunc(q.Weights, func(w convert.QuantizedWeight) bool { return w.Name == c.name }); taken != c.taken || q.UnknownClass != "" {
			t.Errorf("%s: %s is quantized: %v, unknown class %q", c.class, c.name, taken, q.UnknownClass)
		}
	}
}

// A class that is in no table is reported, and so are matrices that a type does not have by
// default.
func TestUnknownClassesAndMatricesAreReported(t *testing.T) {
	matrix := converttest.Typed{Shape: []int64{64, 64}, Plain: "F16"}
	tensors := map[string]converttest.Typed{"model.layers.0.self_attn.q_proj.weight": matrix, "model.layers.0.mlp.adapter.up_proj.weight": matrix, "score.weight": matrix}
	for _, c := range []struct {
		architectures, unknown string
		guessed                int64
	}{
		{`["LlamaForCausalLM"]`, "", 2},
		{`["OtherForCausalLM"]`, "OtherForCausalLM", 2},
		{`["OtherForCausalLM", "LlamaForSequenceClassification"]`, "", 1},
		{`[1, null, "LlamaForTokenClassification"]`, "", 1},
		{`[]`, "", 2},
		{`null`, "", 2},
	} {
		m := converttest.TypedModel(t, converttest.Account(t), "llama", tensors)
		m = converttest.WithConfig(m, `{"architectures": `+c.architectures+`, "model_type": "llama"}`)
		_, p, err := converttest.Quantized(t, m, bnb.Layout{}, 1, 0)
		if err != nil {
			t.Errorf("%s: %v", c.architectures, err)
			continue
		}
		type said struct {
			Unknown string
			Guessed int64
			First   string
		}
		want := said{c.unknown, c.guessed, "model.layers.0.mlp.adapter.up_proj.weight"}
		if diff := cmp.Diff(want, said{p.Quantized.UnknownClass, p.Quantized.Guessed, p.Quantized.FirstGuessed}); diff != "" {
			t.Errorf("%s: %s", c.architectures, diff)
		}
	}
}

// A type that transformers cannot reload after quantizing it itself is reported, for the format in
// which that was seen.
func TestTypesThatTransformersDoesNotReloadAreReported(t *testing.T) {
	matrix := converttest.Typed{Shape: []int64{64, 64}, Plain: "F16"}
	tensors := map[string]converttest.Typed{"layers.0.self_attn.q_proj.weight": matrix, "layers.0.mlp.down_proj.weight": matrix}
	for kind, breaks := range map[string]bool{"llama4_text": true, "qwen4_exp_text": true, "llama": false} {
		_, p, err := converttest.Quantized(t, converttest.TypedModel(t, converttest.Account(t), kind, tensors), bnb.Layout{}, 1, 0)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		} else if q := p.Quantized; breaks != (q.BreaksAgain != "") {
			t.Errorf("%s: %q", kind, q.BreaksAgain)
		}
	}
}

// A matrix that becomes the weight of a linear module under another name can be neither quantized
// nor skipped: such a model is refused, and a model of the type without the matrix is not.
func TestMatricesThatTransformersRenamesAreRefused(t *testing.T) {
	matrix := converttest.Typed{Shape: []int64{64, 64}, Plain: "F16"}
	for _, c := range []struct {
		kind, name string
		refused    bool
	}{
		{"jev", "weight", true},
		{"jev", "model.layers.0.mlp.gate_proj.weight", false},
		{"inkling2", "language_model.layers.1.attn.k_sconv.weight_proj", true},
		{"llama", "weight", false},
	} {
		tensors := map[string]converttest.Typed{c.name: matrix, "model.layers.0.mlp.down_proj.weight": matrix, "language_model.layers.0.attn.wq_du.weight": matrix}
		_, _, err := converttest.Quantized(t, converttest.TypedModel(t, converttest.Account(t), c.kind, tensors), bnb.Layout{}, 1, 0)
		if refused := errors.Is(err, wire.ErrUnsupported); refused != c.refused || !refused && err != nil {
			t.Errorf("%s with %s: %v", c.kind, c.name, err)
		}
	}
}
