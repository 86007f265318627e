package modelopt_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
)

// Weights that ModelOpt's default configuration skips are skipped in its formats, unless they are
// chosen by name; crosscheck/targets.py compares with its export of Qwen2-MoE.
func TestWeightsThatModelOptSkipsStayUnquantized(t *testing.T) {
	const kept = "model.layers.0.mlp.shared_expert_gate.weight"
	matrix := converttest.Typed{Shape: []int64{128, 128}, Plain: "BF16"}
	tensors := map[string]converttest.Typed{"model.layers.0.mlp.shared_expert.gate_proj.weight": matrix, kept: matrix}
	has := func(p *convert.Plan) bool {
		return slices.ContainsFunc(p.Quantized.Weights, func(w convert.QuantizedWeight) bool { return w.Name == kept })
	}
	for to, want := range map[string]bool{
		"modelopt_fp8": false, "modelopt_fp8_channel": false, "modelopt_fp8_block": false, "modelopt_nvfp4": false, "modelopt_mxfp8": false, "fp8_dynamic": true, "w4a16": true,
	} {
		b := converttest.Account(t)
		p, err := convert.NewPlan(b, converttest.TypedModel(t, b, "qwen2_moe", tensors), convert.Options{Quantize: converttest.To(t, to), Sink: convert.Safetensors{}})
		if err != nil {
			t.Errorf("%s: %v", to, err)
			continue
		}
		if has(p) != want || len(p.Quantized.Weights) == 0 {
			t.Errorf("%s: %v", to, p.Quantized.Weights)
		}
		if at := slices.IndexFunc(p.Quantized.Kept, func(k convert.KeptMatrix) bool { return k.Name == kept }); !want && (at < 0 || !strings.Contains(p.Quantized.Kept[at].Why, "ModelOpt")) {
			t.Errorf("%s: kept %v", to, p.Quantized.Kept)
		}
	}
	o := converttest.To(t, "modelopt_fp8_block", convert.Choices{Include: func(name string) bool { return name == kept }})
	b := converttest.Account(t)
	if p, err := convert.NewPlan(b, converttest.TypedModel(t, b, "qwen2_moe", tensors), convert.Options{Quantize: o, Sink: convert.Safetensors{}}); err != nil || !has(p) {
		t.Errorf("chosen by name: %v", err)
	}
}
