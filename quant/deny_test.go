package quant_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/google/go-cmp/cmp"
)

// A weight is decoded only where everything around it is explained. Each case is
// one thing too many beside a weight that decodes; the caller may say that it does
// no harm.
func TestUnknownTensorsAndKeysAreRefused(t *testing.T) {
	int8 := []quanttest.Stored{quanttest.Zeros("m.weight", tensor.I8, 8, 32), quanttest.Zeros("m.weight_scale", tensor.F32, 8, 1)}
	gptq := []quanttest.Stored{quanttest.Zeros("m.qweight", tensor.I32, 4, 32), quanttest.Zeros("m.qzeros", tensor.I32, 1, 4), quanttest.Zeros("m.scales", tensor.F16, 1, 32)}
	fp8 := []quanttest.Stored{quanttest.Zeros("m.weight", tensor.F8E4M3, 128, 128), quanttest.Zeros("m.weight_scale_inv", tensor.F32, 1, 1)}
	beside := func(list []quanttest.Stored, more ...quanttest.Stored) []quanttest.Stored {
		return append(list[:len(list):len(list)], more...)
	}
	for _, test := range []struct {
		name, config string
		tensors      []quanttest.Stored
		ignore       string // "" where the model decodes
	}{
		{"nothing too much", quanttest.Method("compressed-tensors", ""), int8, ""},
		{"a key that is known", quanttest.Method("gptq", `,"bits":4,"damp_percent":0.1,"meta":{"quantizer":["a"],"mse":1}`), gptq, ""},
		{"a key that is unknown", quanttest.Method("gptq", `,"bits":4,"twist":1`), gptq, "twist"},
		{"an unknown key of an object", quanttest.Method("gptq", `,"dynamic":{"+:m":{"bits":4,"twist":1}}`), gptq, "dynamic"},
		{"a rotation", quanttest.Method("gptq", `,"bits":4,"rotation":"hadamard"`), gptq, "rotation"},
		{"no rotation", quanttest.Method("gptq", `,"bits":4,"rotation":null,"pack_dtype":"int32"`), gptq, ""},
		{"words of another size", quanttest.Method("gptq", `,"bits":4,"pack_dtype":"int16"`), gptq, "pack_dtype"},
		{"an unknown method", quanttest.Method("mystery", ""), fp8, "quant_method"},
		{"a method of nobody with a key of its own", quanttest.Method("w8a8_int8", ""), int8, ""},
		{"an unknown key in a group", quanttest.Method("compressed-tensors", `,"config_groups":{"g":{"targets":["Linear"],"weights":{"num_bits":8,"type":"int","twist":true}}}`), int8, "config_groups"},
		{"an unknown key in a list", quanttest.Method("quark", `,"algo_config":[{"name":"awq"},{"name":"twist"}]`), int8, "algo_config"},
		{"a known one in a list", quanttest.Method("quark", `,"algo_config":[{"name":"awq","scaling_layers":[{"layers":["a"]}]}]`), int8, ""},
		{"a module of MLX", `{"quantization":{"bits":4,"group_size":32,"a.b":false,"m":{"bits":4,"group_size":32}}}`,
			[]quanttest.Stored{quanttest.Zeros("m.weight", tensor.U32, 8, 4), quanttest.Zeros("m.scales", tensor.F16, 8, 1), quanttest.Zeros("m.biases", tensor.F16, 8, 1)}, ""},
		{"an unknown key of MLX", `{"quantization":{"bits":4,"group_size":32,"twist":"yes"}}`,
			[]quanttest.Stored{quanttest.Zeros("m.weight", tensor.U32, 8, 4), quanttest.Zeros("m.scales", tensor.F16, 8, 1), quanttest.Zeros("m.biases", tensor.F16, 8, 1)}, "twist"},
		{"an offset", "", beside(int8, quanttest.Zeros("m.weight_shift", tensor.F32, 8, 1)), "weight_shift"},
		{"a number for each column", "", beside(fp8, quanttest.Zeros("m.smooth", tensor.F32, 128)), "smooth"},
		{"a product of low rank", "", beside(fp8, quanttest.Zeros("m.svd_up", tensor.F32, 128, 4), quanttest.Zeros("m.svd_down", tensor.F32, 4, 128)), "svd_up svd_down"},
		{"a module inside", "", beside(fp8, quanttest.Zeros("m.lora_A.weight", tensor.F32, 4, 128)), "m.lora_A.weight"},
		{"a bias", "", beside(fp8, quanttest.Zeros("m.bias", tensor.F32, 128)), ""},
		{"a neighbour", "", beside(fp8, quanttest.Zeros("m_norm.weight", tensor.F32, 128), quanttest.Zeros("n.weight", tensor.F32, 128)), ""},
		{"activation scales", "", beside(fp8, quanttest.Zeros("m.input_scale", tensor.F32), quanttest.Zeros("m.activation_scale", tensor.F32)), ""},
		{"codes of another packing", quanttest.Method("compressed-tensors", ""), beside(int8, quanttest.Zeros("n.weight_codes", tensor.I32, 8, 8)), "n.weight_codes"},
		{"places in a sequence", quanttest.Method("compressed-tensors", ""), beside(int8, quanttest.Zeros("position_ids", tensor.I32, 1, 8)), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := quanttest.Model(test.config, test.tensors...)
			_, _, err := quanttest.Plan(t, m, quant.Options{})
			if test.ignore == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			names := strings.Fields(test.ignore)
			if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), names[0]) || !strings.Contains(err.Error(), "quant.Options.IgnoreUnknown") {
				t.Fatal(err)
			}
			bound, _, err := quanttest.Plan(t, m, quant.Options{IgnoreUnknown: names})
			if err != nil {
				t.Fatal(err)
			}
			for i, name := range names {
				if i >= len(bound.Ignored) || !strings.Contains(bound.Ignored[i], name) {
					t.Errorf("ignored %v, wanted %v", bound.Ignored, names)
				}
			}
		})
	}
}

// Every file that may hold a configuration is looked at, not the first alone.
func TestEveryConfigurationIsChecked(t *testing.T) {
	for _, test := range []struct{ config, wants string }{
		{`{"quantization_config":{"quant_method":"fp8"},"text_config":{"quantization_config":{"quant_method":"fp8","twist":1}}}`, "twist"},
		{`{"quantization_config":{"quant_method":"fp8"},"compression_config":{"twist":1}}`, "twist"},
		{`{"quantization_config":{"quant_method":"fp8"},"quantization":{"quant_method":"fp8"}}`, ""},
	} {
		_, _, err := quanttest.Plan(t, quanttest.Model(test.config, quanttest.Zeros("m.weight", tensor.F8E4M3, 128, 128), quanttest.Zeros("m.weight_scale_inv", tensor.F32, 1, 1)), quant.Options{})
		if got := err != nil; got != (test.wants != "") || got && !strings.Contains(err.Error(), test.wants) {
			t.Errorf("%s: %v", test.config, err)
		}
	}
	bound, _, err := quanttest.Plan(t, quanttest.Model(`{"quantization_config":{"quant_method":"fp8","twist":{"a":1,"b":2}}}`,
		quanttest.Zeros("m.weight", tensor.F8E4M3, 128, 128), quanttest.Zeros("m.weight_scale_inv", tensor.F32, 1, 1)), quant.Options{IgnoreUnknown: []string{"twist"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"config.json: twist.a", "config.json: twist.b"}, bound.Ignored); diff != "" {
		t.Error(diff)
	}
}

// A shard that is named alone has no scales that lie in others.
func TestAShardWithoutItsScaleIsRefused(t *testing.T) {
	index := func(scale string) string {
		return `{"metadata":{},"weight_map":{"m.weight":"model-00001-of-00002.safetensors","` + scale + `":"model-00002-of-00002.safetensors"}}`
	}
	for _, test := range []struct {
		name, scale string
		refused     bool
	}{{"inverse", "m.weight_scale_inv", true}, {"of the module", "m.scale", true}, {"another tensor", "n.weight", false}} {
		t.Run(test.name, func(t *testing.T) {
			f := quanttest.Model("", quanttest.Zeros("m.weight", tensor.F8E4M3, 128, 128))
			f.Folder = fstest.MapFS{"model.safetensors.index.json": {Data: []byte(index(test.scale))}}
			_, _, err := quanttest.Plan(t, f, quant.Options{})
			if !test.refused {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "model-00002-of-00002.safetensors") {
				t.Error(err)
			}
		})
	}
}
