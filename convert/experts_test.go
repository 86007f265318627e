package convert_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
)

// Experts that transformers stacks are quantized in the formats from which it does, as llm-compressor
// quantizes them, and left alone in those from which it does not. crosscheck/targets.py loads them.
func TestExpertsInTheFormatsThatTakeThem(t *testing.T) {
	matrix := typed{shape: []int64{128, 128}, plain: "BF16"}
	const expert = "model.layers.0.mlp.experts.0.up_proj.weight"
	tensors := map[string]typed{"model.layers.0.self_attn.q_proj.weight": matrix, expert: matrix, "model.layers.0.mlp.gate.weight": matrix}
	for _, c := range []struct {
		to            string
		taken, breaks bool
		kept          string
	}{
		{"w4a16", true, false, ""}, {"w8a16", true, false, ""}, {"fp8_dynamic", true, false, ""}, {"fp8_tensor", true, false, ""}, {"mxfp4", true, false, ""},
		{"nvfp4", true, true, ""}, {"fp8", true, false, ""}, {"w8a8", true, true, ""}, {"w4a16_asym", true, true, ""}, {"w8a16_asym", true, true, ""},
		{"fp8_block", false, false, "fuses them"}, {"mxfp8", false, false, "fuses them"}, {"torchao_int8", false, false, "fuses them"}, {"mlx_4", false, false, "mlx-lm stacks them"},
	} {
		b := account(t)
		p, err := convert.NewPlan(b, typedModel(t, b, "qwen3_moe", tensors), convert.Options{Quantize: quantizerTo(t, c.to), Sink: convert.Safetensors{}})
		if err != nil {
			t.Errorf("%s: %v", c.to, err)
			continue
		}
		taken := slices.ContainsFunc(p.Quantized.Weights, func(w convert.QuantizedWeight) bool { return w.Name == expert })
		if taken != c.taken || (p.Quantized.BreaksAgain != "") != c.breaks {
			t.Errorf("%s: taken %v, %q", c.to, taken, p.Quantized.BreaksAgain)
		}
		if at := slices.IndexFunc(p.Quantized.Kept, func(k convert.KeptMatrix) bool { return k.Name == expert }); (at >= 0) != (c.kept != "") || at >= 0 && !strings.Contains(p.Quantized.Kept[at].Why, c.kept) {
			t.Errorf("%s: kept %v", c.to, p.Quantized.Kept)
		}
		if !slices.ContainsFunc(p.Quantized.Kept, func(k convert.KeptMatrix) bool { return k.Name == "model.layers.0.mlp.gate.weight" }) {
			t.Errorf("%s: the router is quantized", c.to)
		}
	}
}

// torchao's metadata names modules, which transformers calls otherwise than the file does for some types.
func TestRenamedTypesInTorchao(t *testing.T) {
	matrix := typed{shape: []int64{128, 128}, plain: "BF16"}
	tensors := map[string]typed{"encoder.layer.0.attention.attention.query.weight": matrix, "model.layers.0.self_attn.q_proj.weight": matrix}
	for _, c := range []struct {
		kind, to string
		breaks   bool
	}{{"vit", "torchao_int8", true}, {"vit", "torchao_fp8", true}, {"vit", "w8a8", false}, {"llama", "torchao_int8", false}} {
		b := account(t)
		p, err := convert.NewPlan(b, typedModel(t, b, c.kind, tensors), convert.Options{Quantize: quantizerTo(t, c.to), Sink: convert.Safetensors{}})
		if err != nil || (p.Quantized.BreaksAgain != "") != c.breaks {
			t.Errorf("%s to %s: %v", c.kind, c.to, err)
		}
	}
}

// Formats of other libraries than bitsandbytes that transformers does not load for a type, though it
// loads others: crosscheck/targets.py tried them.
func TestTypesThatDoNotLoadInAFormat(t *testing.T) {
	matrix := typed{shape: []int64{128, 128}, plain: "F16"}
	tensors := map[string]typed{"model.layers.0.self_attn.q_proj.weight": matrix}
	for _, c := range []struct {
		kind, to string
		breaks   bool
	}{{"kimi_linear", "w4a16", true}, {"kimi_linear", "w8a8", true}, {"kimi_linear", "fp8", false}, {"dbrx", "fp8", true}, {"dbrx", "fp8_dynamic", false},
		{"laguna", "gptq", true}, {"laguna", "awq", false}, {"llama", "gptq", false}, {"llama", "fp8", false},
		{"llama4_text", "w4a16", true}, {"llama4_text", "nvfp4", true}, {"llama4_text", "fp8", false}} {
		b := account(t)
		p, err := convert.NewPlan(b, typedModel(t, b, c.kind, tensors), convert.Options{Quantize: quantizerTo(t, c.to), Sink: convert.Safetensors{}})
		if err != nil || (p.Quantized.BreaksAgain != "") != c.breaks {
			t.Errorf("%s to %s: %v, %q", c.kind, c.to, err, p.Quantized.BreaksAgain)
		}
	}
}
