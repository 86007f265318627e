package quant_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

func TestModulesHavePropertiesOfTheirOwn(t *testing.T) {
	packed := func(config string) tensor.Model { // 13 columns of 4 or 5 bits in three words
		return quanttest.Model(config,
			quanttest.Zeros("model.layers.0.mlp.down.weight_packed", tensor.I32, 2, 3), quanttest.Zeros("model.layers.0.mlp.down.weight_scale", tensor.BF16, 2, 1),
			quanttest.Stored{Name: "model.layers.0.mlp.down.weight_shape", DType: tensor.I64, Shape: []int64{2}, Data: []byte{2, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0}})
	}
	groups := func(targets4, targets5 string) string {
		return `{"quantization_config":{"quant_method":"compressed-tensors","version":"0.20.0","config_groups":{
			"group_0":{"targets":[` + targets4 + `],"weights":{"num_bits":4}},"group_1":{"targets":[` + targets5 + `],"weights":{"num_bits":5}}}}}`
	}
	for _, tc := range []struct {
		what   string
		m      tensor.Model
		layout string // or what the error says
	}{
		{"a group by a pattern before one by a class", packed(groups(`"Linear"`, `"re:.*mlp.*"`)), "5 bits"},
		{"a group by a name before one by a pattern", packed(groups(`"model.layers.0.mlp.down"`, `"re:.*mlp.*"`)), "4 bits"},
		{"two groups by patterns", packed(groups(`"re:.*down"`, `"re:.*mlp.*"`)), "num_bits"},
		{"two groups by one class", packed(groups(`"Linear"`, `"Linear"`)), "num_bits"},
		{"a width of 33 bits", packed(strings.Replace(groups(`"Linear"`, `"Linear"`), `"num_bits":5`, `"num_bits":33`, 1)), "num_bits 33"},
		{"a width of no bits", packed(strings.Replace(groups(`"Linear"`, `"Linear"`), `"num_bits":5`, `"num_bits":0`, 1)), "num_bits 0"},
		{"words of several widths", quanttest.Model("", quanttest.Zeros("m.weight_packed", tensor.I32, 2, 1), quanttest.Zeros("m.weight_scale", tensor.BF16, 2, 1),
			quanttest.Stored{Name: "m.weight_shape", DType: tensor.I64, Shape: []int64{2}, Data: []byte{2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}}), "several readings"},
		{"GPTQModel's overrides", quanttest.GPTQ(`{"quantization_config":{"quant_method":"gptq","bits":8,"group_size":128,"dynamic":{
			"-:^lm_head":{},"+:.*\\.down":{"bits":4,"group_size":32}}}}`, "layers.0.down", 0x77777777), "4 bits, groups of 32"},
		{"GPTQModel's exclusion", quanttest.GPTQ(quanttest.GPTQConfig("gptq", `,"dynamic":{"-:.*\\.down":{}}`), "layers.0.down", 0x77777777), "not quantized"},
		{"a width that the configuration denies", quanttest.GPTQ(`{"quantization_config":{"quant_method":"gptq","bits":8}}`, "m", 0x77777777), "says 8 bits"},
		{"AutoRound's overrides", quanttest.GPTQ(`{"quantization_config":{"quant_method":"auto-round","bits":2,"group_size":64,"extra_config":{
			"layers.0.down":{"bits":4,"group_size":32}}}}`, "layers.0.down", 0x77777777), "4 bits, groups of 32"},
		{"AutoRound's pattern", quanttest.GPTQ(`{"quantization_config":{"quant_method":"auto-round","bits":2,"group_size":64,"extra_config":{
			".*down.*":{"bits":4,"group_size":32}}}}`, "layers.0.down", 0x77777777), "4 bits, groups of 32"},
		{"a pattern that costs too much", quanttest.GPTQ(quanttest.GPTQConfig("gptq", `,"dynamic":{"+:(a{1000}){1000}":{}}`), "m", 0x77777777), "pattern"},
		{"MLX's entry", quanttest.Model(`{"quantization":{"bits":4,"group_size":64,"model.layers.0.down":{"bits":8,"group_size":32}}}`,
			quanttest.Zeros("model.layers.0.down.weight", tensor.U32, 2, 16), quanttest.Zeros("model.layers.0.down.scales", tensor.BF16, 2, 2),
			quanttest.Zeros("model.layers.0.down.biases", tensor.BF16, 2, 2)), "affine, 8 bits, groups of 32"},
	} {
		t.Run(tc.what, func(t *testing.T) {
			bound, _, err := quanttest.Plan(t, tc.m, quant.Options{})
			got := fmt.Sprint(err)
			if err == nil {
				got = bound.Weights[0].Layout
			}
			if !strings.Contains(got, tc.layout) {
				t.Errorf("got %q, want %q", got, tc.layout)
			}
		})
	}
}
