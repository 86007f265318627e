package encode_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
)

// Experts that transformers stacks are quantized in the formats from which it can load them, as by
// llm-compressor, and not in the others. crosscheck/targets.py loads them.
func TestExpertsInTheFormatsThatTakeThem(t *testing.T) {
	matrix := converttest.Typed{Shape: []int64{128, 128}, Plain: "BF16"}
	const expert = "model.layers.0.mlp.experts.0.up_proj.weight"
	tensors := map[string]converttest.Typed{"model.layers.0.self_attn.q_proj.weight": matrix, expert: matrix, "model.layers.0.mlp.gate.weight": matrix}
	for _, c := range []struct {
		to            string
		taken, breaks bool
		kept          string
	}{
		{"w4a16", true, false, ""}, {"w8a16", true, false, ""}, {"fp8_dynamic", true, false, ""}, {"fp8_tensor", true, false, ""}, {"mxfp4", true, false, ""},
		{"nvfp4", true, true, ""}, {"fp8", true, false, ""}, {"w8a8", true, true, ""}, {"w4a16_asym", true, true, ""}, {"w8a16_asym", true, true, ""},
		{"fp8_block", false, false, "fuses them"}, {"mxfp8", false, false, "fuses them"}, {"torchao_int8", false, false, "fuses them"}, {"mlx_4", false, false, "mlx-lm stacks them"},
	} {
		b := converttest.Account(t)
		p, err := convert.NewPlan(b, converttest.TypedModel(t, b, "qwen3_moe", tensors), convert.Options{Quantize: converttest.To(t, c.to), Sink: convert.Safetensors{}})
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

// Formats of other libraries than bitsandbytes that transformers does not load for a type, though it
// loads others: crosscheck/targets.py tried them.
func TestTypesThatDoNotLoadInAFormat(t *testing.T) {
	matrix := converttest.Typed{Shape: []int64{128, 128}, Plain: "F16"}
	tensors := map[string]converttest.Typed{"model.layers.0.self_attn.q_proj.weight": matrix}
	for _, c := range []struct {
		kind, to string
		breaks   bool
	}{{"kimi_linear", "w4a16", true}, {"kimi_linear", "w8a8", true}, {"kimi_linear", "fp8", false}, {"dbrx", "fp8", true}, {"dbrx", "fp8_dynamic", false},
		{"laguna", "gptq", true}, {"laguna", "awq", false}, {"llama", "gptq", false}, {"llama", "fp8", false},
		{"llama4_text", "w4a16", true}, {"llama4_text", "nvfp4", true}, {"llama4_text", "fp8", false}} {
		b := converttest.Account(t)
		p, err := convert.NewPlan(b, converttest.TypedModel(t, b, c.kind, tensors), convert.Options{Quantize: converttest.To(t, c.to), Sink: convert.Safetensors{}})
		if err != nil || (p.Quantized.BreaksAgain != "") != c.breaks {
			t.Errorf("%s to %s: %v, %q", c.kind, c.to, err, p.Quantized.BreaksAgain)
		}
	}
}
