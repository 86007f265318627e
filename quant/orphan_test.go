package quant_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A scale or zero point whose codes are missing is no tensor of an unquantized model,
// and transformers and vLLM load such a folder with a weight of random numbers.
func TestPartsWithoutTheirCodesAreRefused(t *testing.T) {
	config := func(method string) string {
		return `{"quantization_config":{"quant_method":"` + method + `","weight_block_size":[128,128],"bits":4,"group_size":128}}`
	}
	mlx := `{"quantization":{"bits":4,"group_size":64}}`
	plain := quanttest.Zeros("norm.weight", tensor.BF16, 8)
	lone := func(name string) []quanttest.Stored {
		return []quanttest.Stored{plain, quanttest.Zeros(name, tensor.F32, 8)}
	}
	for _, tc := range []struct {
		name, config string
		tensors      []quanttest.Stored
		missing      string // nothing: it is no part of a weight
	}{
		{"FP8", config("fp8"), lone("m.weight_scale_inv"), "m.weight"},
		{"FP8 of experts", config("fp8"), lone("e.gate_up_proj_scale_inv"), "e.gate_up_proj"},
		{"FP8 of experts, the other name", config("fp8"), lone("e.down_proj_scale"), "e.down_proj"},
		{"GPTQ's zero points", config("gptq"), []quanttest.Stored{plain, quanttest.Zeros("m.qzeros", tensor.I32, 8)}, "m.qweight"},
		{"GPTQ's scales", config("gptq"), lone("m.scales"), "m.qweight"},
		{"GPTQ's groups", config("gptq"), []quanttest.Stored{plain, quanttest.Zeros("m.g_idx", tensor.I32, 8)}, "m.qweight"},
		{"AWQ", config("awq"), lone("m.scales"), "m.qweight"},
		{"compressed-tensors", config("compressed-tensors"), lone("m.weight_scale"), "m.weight"},
		{"compressed-tensors, packed", config("compressed-tensors"), lone("m.weight_global_scale"), "m.weight_packed"},
		{"bitsandbytes", config("bitsandbytes"), lone("m.weight.absmax"), "m.weight"},
		{"bitsandbytes of 8 bits", config("bitsandbytes"), lone("m.SCB"), "m.weight"},
		{"MXFP4 of gpt-oss", config("mxfp4"), []quanttest.Stored{plain, quanttest.Zeros("e.down_proj_scales", tensor.U8, 8)}, "e.down_proj_blocks"},
		{"MLX", mlx, lone("m.scales"), "m.weight"},
		{"MLX's biases", mlx, lone("m.biases"), "m.weight"},

		{"a weight that is not quantized", config("fp8"), []quanttest.Stored{plain, quanttest.Zeros("m.weight", tensor.BF16, 8, 8), quanttest.Zeros("m.weight_scale", tensor.F32, 8)}, ""},
		{"a scale of the attention's cache", config("compressed-tensors"), lone("a.k_scale"), ""},
		{"CLIP's", config("bitsandbytes"), lone("logit_scale"), ""},
		{"a number for each layer", config("fp8"), lone("layers.0.layer_scale"), ""},
		{"a norm's", config("hqq"), lone("norm.scale"), ""},
		{"an activation's", config("fp8"), lone("m.input_scale"), ""},
		{"no configuration", "", lone("m.weight_scale"), ""},
		{"a configuration of another scheme", config("gptq"), lone("m.weight_scale"), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := quanttest.Model(tc.config, tc.tensors...)
			bound, _, err := quanttest.Plan(t, m, quant.Options{})
			if tc.missing == "" {
				if err != nil || len(bound.Weights) > 0 {
					t.Errorf("%v", err)
				}
				return
			}
			if !errors.Is(err, wire.ErrMissing) || !strings.Contains(err.Error(), `"`+tc.missing+`"`) {
				t.Errorf("got %v", err)
			}
			if !quant.Any(m) {
				t.Error("nobody would ask")
			}
			end := tc.tensors[1].Name[strings.LastIndexByte(tc.tensors[1].Name, '.')+1:]
			if _, _, err := quanttest.Plan(t, m, quant.Options{IgnoreUnknown: []string{end}}); err != nil {
				t.Errorf("at the caller's word: %v", err)
			}
		})
	}
}
