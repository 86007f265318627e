package quant_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// gptq4 is 64 inputs of eight outputs in one group.
func gptq4(config string) *tensor.File {
	return quanttest.Model(config, quanttest.Zeros("m.qweight", tensor.I32, 8, 8), quanttest.Zeros("m.qzeros", tensor.I32, 1, 1), quanttest.Zeros("m.scales", tensor.F16, 1, 8))
}

// Two statements of a model are compared: the error names both, and the flag that decides, if there
// is one.
func TestContradictionsNameBothSidesAndTheFlag(t *testing.T) {
	nvfp4 := []quanttest.Stored{quanttest.Zeros("m.weight", tensor.U8, 8, 16), quanttest.Zeros("m.weight_scale", tensor.F8E4M3, 8, 2), quanttest.Zeros("m.weight_scale_2", tensor.F32, 1)}
	fp8 := []quanttest.Stored{quanttest.Zeros("m.weight", tensor.F8E4M3, 64, 64), quanttest.Zeros("m.weight_scale_inv", tensor.F32, 2, 2)}
	awq := []quanttest.Stored{quanttest.Zeros("m.qweight", tensor.I32, 64, 8), quanttest.Zeros("m.qzeros", tensor.I32, 2, 8), quanttest.Zeros("m.scales", tensor.F16, 2, 64)}
	gptq := []quanttest.Stored{quanttest.Zeros("m.qweight", tensor.I32, 8, 64), quanttest.Zeros("m.qzeros", tensor.I32, 2, 8), quanttest.Zeros("m.scales", tensor.F16, 2, 64)}
	gptq192 := []quanttest.Stored{quanttest.Zeros("m.qweight", tensor.I32, 24, 64), quanttest.Zeros("m.qzeros", tensor.I32, 2, 8), quanttest.Zeros("m.scales", tensor.F16, 2, 64)}
	packed := []quanttest.Stored{quanttest.Zeros("m.weight_packed", tensor.I32, 8, 8), quanttest.Zeros("m.weight_scale", tensor.F32, 8, 2), {Name: "m.weight_shape", DType: tensor.I64, Shape: []int64{2}, Data: append([]byte{7: 0, 0: 8}, []byte{7: 0, 0: 64}...)}}
	int8 := []quanttest.Stored{quanttest.Zeros("m.weight", tensor.I8, 8, 64), quanttest.Zeros("m.weight_scale", tensor.F32, 8, 1)}
	groups := func(weights string) string {
		return quanttest.Method("compressed-tensors", `,"config_groups":{"g":{"targets":["Linear"],"weights":{"num_bits":4,"type":"int",`+weights+`}}}`)
	}
	block := func(size string) string { return quanttest.Method("fp8", `,"weight_block_size":`+size) }
	for _, test := range []struct {
		name   string
		m      tensor.Model
		o      quant.Options
		says   []string
		class  wire.Class
		passes bool
	}{
		{name: "a method of another scheme", m: quanttest.Model(quanttest.Method("fp8", ""), nvfp4...),
			says: []string{`"fp8"`, "m.weight_scale", `quant.Options.Scheme "NVFP4"`}, class: wire.Unsupported},
		{name: "a method of another scheme, and the caller's word", m: quanttest.Model(quanttest.Method("fp8", ""), nvfp4...), o: quant.Options{Scheme: "NVFP4"}, passes: true},
		{name: "a method of several schemes", m: quanttest.Model(quanttest.Method("modelopt", ""), nvfp4...), passes: true},
		{name: "two schemes", m: quanttest.Model("", quanttest.Zeros("m.weight", tensor.I8, 8, 8), quanttest.Zeros("m.SCB", tensor.F32, 8), quanttest.Zeros("m.weight_scale", tensor.F32, 8, 1)),
			says: []string{"m.SCB", "m.weight_scale", "quant.Options.Scheme"}, class: wire.Unsupported},
		{name: "a number that divides and one that multiplies", m: quanttest.Model("", append(nvfp4, quanttest.Zeros("m.weight_global_scale", tensor.F32, 1))...),
			says: []string{"m.weight_scale_2", "m.weight_global_scale"}, class: wire.Unsupported},
		{name: "blocks that do not fit", m: quanttest.Model(block("[128,128]"), fp8...),
			says: []string{"config.json", "[128 128]", "m.weight_scale_inv", "quant.Options.Block"}, class: wire.Malformed},
		{name: "blocks of nothing", m: quanttest.Model(block("[0,32]"), fp8...), says: []string{"[0 32]", "quant.Options.Block"}, class: wire.Malformed},
		{name: "blocks of no number", m: quanttest.Model(block(`"32"`), fp8...), says: []string{"weight_block_size", "quant.Options.Block"}, class: wire.Malformed},
		{name: "blocks beyond all numbers", m: quanttest.Model(block(`[9223372036854775808,32]`), fp8...), says: []string{"quant.Options.Block"}, class: wire.Malformed},
		{name: "blocks that do not fit, and the caller's word", m: quanttest.Model(block("[128,128]"), fp8...), o: quant.Options{Block: [2]int64{32, 32}}, passes: true},
		{name: "bits in quotes", m: quanttest.Model(quanttest.Method("gptq", `,"bits":"4"`), gptq...), says: []string{"config.json", `"bits"`}, class: wire.Malformed},
		{name: "one group and two", m: quanttest.Model(quanttest.Method("gptq", `,"group_size":-1`), gptq...), says: []string{"config.json", "m.qzeros"}, class: wire.Malformed},
		{name: "groups of 96, or of 128", m: quanttest.Model("", gptq192...), says: []string{"96", "128", "group_size"}, class: wire.Unsupported},
		{name: "groups that each input names", m: quanttest.Model("", append(gptq192[:3:3], quanttest.Order("m.g_idx", 1, 192))...), passes: true},
		{name: "an order that the configuration denies", m: quanttest.Model(quanttest.Method("gptq", `,"bits":4,"group_size":96,"desc_act":false`), append(gptq192[:3:3], quanttest.Order("m.g_idx", 1, 192))...),
			says: []string{"config.json", "desc_act", "m.g_idx"}, class: wire.Malformed},
		{name: "an order that the configuration denies for one module", m: quanttest.Model(quanttest.Method("gptq", `,"bits":4,"group_size":96,"desc_act":true,"dynamic":{"m":{"desc_act":false}}`), append(gptq192[:3:3], quanttest.Order("m.g_idx", 1, 192))...),
			says: []string{"config.json", "desc_act", "m.g_idx"}, class: wire.Malformed},
		{name: "an order that is none", m: quanttest.Model(quanttest.Method("gptq", `,"bits":4,"group_size":96,"desc_act":false`), append(gptq192[:3:3], quanttest.Order("m.g_idx", 96, 192))...), passes: true},
		{name: "all inputs in the first of two groups", m: quanttest.Model(quanttest.Method("gptq", `,"bits":4,"group_size":96,"desc_act":true`), append(gptq192[:3:3], quanttest.Zeros("m.g_idx", tensor.I32, 192))...),
			says: []string{"two readings", "m.g_idx"}, class: wire.Unsupported},
		{name: "groups of 96", m: quanttest.Model(quanttest.Method("gptq", `,"bits":4,"group_size":96`), gptq192...), passes: true},
		{name: "groups of 128", m: quanttest.Model(quanttest.Method("gptq", `,"bits":4,"group_size":128`), gptq192...), passes: true},
		{name: "bits of AWQ", m: quanttest.Model(quanttest.Method("awq", `,"bits":8`), awq...), says: []string{"bits 8", "m.scales"}, class: wire.Malformed},
		{name: "groups of AWQ", m: quanttest.Model(quanttest.Method("awq", `,"group_size":64`), awq...), says: []string{"group_size 64", "m.scales"}, class: wire.Malformed},
		{name: "AWQ as it is", m: quanttest.Model(quanttest.Method("awq", `,"bits":4,"group_size":32`), awq...), passes: true},
		{name: "packed as it is", m: quanttest.Model(groups(`"strategy":"group","group_size":32,"symmetric":true`), packed...), passes: true},
		{name: "zero points that are promised", m: quanttest.Model(groups(`"symmetric":false`), packed...), says: []string{"m.weight_zero_point", "config.json", "symmetric"}, class: wire.Malformed},
		{name: "zero points of bytes that are promised", m: quanttest.Model(groups(`"symmetric":false`), int8...), says: []string{"m.weight_zero_point", "symmetric"}, class: wire.Malformed},
		{name: "zero points that are denied", m: quanttest.Model(groups(`"symmetric":true`), append(int8[:2:2], quanttest.Stored{Name: "m.weight_zero_point", DType: tensor.I8, Shape: []int64{8, 1}, Data: []byte{7: 1}})...),
			says: []string{"m.weight_zero_point", "config.json", "symmetric true"}, class: wire.Malformed},
		{name: "zero points of zeros that are denied", m: quanttest.Model(groups(`"symmetric":true`), append(int8[:2:2], quanttest.Zeros("m.weight_zero_point", tensor.I8, 8, 1))...), passes: true},
		{name: "FP8 of another kind", m: quanttest.Model(groups(`"strategy":"channel"`), quanttest.Zeros("m.weight", tensor.F8E4M3, 8, 64), quanttest.Zeros("m.weight_scale", tensor.F32, 8, 1)),
			says: []string{`"int"`, "m.weight_scale"}, class: wire.Malformed},
		{name: "groups of another size under FP8", m: quanttest.Model(strings.Replace(groups(`"strategy":"group","group_size":16`), `"int"`, `"float"`, 1), quanttest.Zeros("m.weight", tensor.F8E4M3, 8, 64), quanttest.Zeros("m.weight_scale", tensor.F32, 8, 2)),
			says: []string{"group_size 16", "m.weight_scale"}, class: wire.Malformed},
		{name: "groups of another size", m: quanttest.Model(groups(`"strategy":"group","group_size":16`), packed...), says: []string{"group_size 16", "m.weight_scale"}, class: wire.Malformed},
		{name: "groups of nothing", m: quanttest.Model(groups(`"strategy":"group","group_size":0`), packed...), says: []string{"group_size 0"}, class: wire.Malformed},
		{name: "codes of another kind", m: quanttest.Model(strings.Replace(groups(`"strategy":"channel"`), `"int"`, `"float"`, 1), int8...), says: []string{`"float"`, "m.weight_scale"}, class: wire.Malformed},
		{name: "weights that are rotated, in a folder", m: quanttest.Model(quanttest.Method("compressed-tensors", `,"transform_config":{"config_groups":{"u":{"type":"hadamard"}}}`), int8...), o: quant.Options{Folder: true},
			says: []string{"transform_config"}, class: wire.Unsupported},
		{name: "weights that are rotated, in a file", m: quanttest.Model(quanttest.Method("compressed-tensors", `,"transform_config":{"config_groups":{"u":{"type":"hadamard"}}}`), int8...),
			says: []string{"transform_config"}, class: wire.Unsupported},
		{name: "weights that are rotated, in a file, for who knows better", m: quanttest.Model(quanttest.Method("compressed-tensors", `,"transform_config":{"config_groups":{"u":{"type":"hadamard"}}}`), int8...),
			o: quant.Options{IgnoreUnknown: []string{"transform_config"}}, passes: true},
		{name: "weights that are rotated, in a folder, for who knows better", m: quanttest.Model(quanttest.Method("compressed-tensors", `,"transform_config":{"config_groups":{"u":{"type":"hadamard"}}}`), int8...),
			o: quant.Options{Folder: true, IgnoreUnknown: []string{"transform_config"}}, says: []string{"transform_config"}, class: wire.Unsupported},
		{name: "transforms that are none", m: quanttest.Model(quanttest.Method("compressed-tensors", `,"transform_config":{"config_groups":{}}`), int8...), o: quant.Options{Folder: true}, passes: true},
		{name: "an order of many", m: quanttest.Model("", quanttest.Zeros("m.weight", tensor.I8, 8, 8), quanttest.Zeros("m.SCB", tensor.F32, 8), quanttest.Zeros("m.weight_format", tensor.U8, 4)),
			says: []string{"m.weight_format", "[4]"}, class: wire.Malformed},
		{name: "a tensor in two weights", m: quanttest.Model("", quanttest.Zeros("m.weight", tensor.U8, 8, 16), quanttest.Zeros("m.weight_packed", tensor.U8, 8, 16), quanttest.Zeros("m.weight_scale", tensor.U8, 8, 1)),
			says: []string{"m.weight_scale", "m.weight_packed"}, class: wire.Malformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := quanttest.Plan(t, test.m, test.o)
			if test.passes {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if wire.ClassOf(err) != test.class {
				t.Fatalf("class %v, want %v: %v", wire.ClassOf(err), test.class, err)
			}
			for _, s := range test.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("%q is not in: %v", s, err)
				}
			}
		})
	}
}

func TestFilesThatDescribeOneQuantizationMustAgree(t *testing.T) {
	own := quanttest.Method("gptq", `,"bits":4,"sym":false`)
	for _, test := range []struct {
		name, file, text, says string
		o                      quant.Options
	}{
		{"the same", "quantize_config.json", `{"bits":4,"checkpoint_format":"gptq"}`, "", quant.Options{}},
		{"other bits", "quantize_config.json", `{"bits":8}`, "says bits 4, and quantize_config.json says 8", quant.Options{}},
		{"another version", "quantize_config.json", `{"checkpoint_format":"gptq_v2"}`, `"gptq_v2"`, quant.Options{}},
		{"another version, and the caller's word", "quantize_config.json", `{"checkpoint_format":"gptq_v2"}`, "", quant.Options{GPTQZeros: "v2"}},
		{"another method", "quant_config.json", `{"quant_method":"awq"}`, `"awq"`, quant.Options{}},
		{"something else", "quant_config.json", `{"zero_point":true}`, "", quant.Options{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := gptq4(own)
			m.Folder.(fstest.MapFS)[test.file] = &fstest.MapFile{Data: []byte(test.text)}
			_, _, err := quanttest.Plan(t, m, test.o)
			switch {
			case test.says == "" && err != nil:
				t.Error(err)
			case test.says != "" && (wire.ClassOf(err) != wire.Malformed || !strings.Contains(err.Error(), test.says)):
				t.Errorf("error %v", err)
			}
		})
	}
}
