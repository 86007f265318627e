package quant_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// One model per row of what is known and not decoded, as its library names its
// tensors; the error names the scheme and who could convert it.
func TestSchemesThatAreNotDecodedAreNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, tc := range []struct {
		scheme, remedy string
		m              tensor.Model
	}{
		{"EXL3", "exllamav3", quanttest.Model("", quanttest.Zeros("m.trellis", tensor.I16, 4, 4, 64), quanttest.Zeros("m.suh", tensor.F16, 64), quanttest.Zeros("m.svh", tensor.F16, 64))},
		{"EXL3", "exllamav3", quanttest.Model("", quanttest.Zeros("m.trellis", tensor.I16, 4, 4, 64), quanttest.Zeros("m.su", tensor.I16, 4), quanttest.Zeros("m.sv", tensor.I16, 4))},
		{"EXL2", "exllamav2", quanttest.Model("", quanttest.Zeros("m.q_weight", tensor.I32, 8, 64), quanttest.Zeros("m.q_scale", tensor.I32, 2, 8), quanttest.Zeros("m.q_scale_max", tensor.F16, 2), quanttest.Zeros("m.q_groups", tensor.I16, 4))},
		{"AQLM", "aqlm", quanttest.Model(quanttest.Method("aqlm", ""), quanttest.Zeros("m.codes", tensor.I8, 8, 8, 1), quanttest.Zeros("m.codebooks", tensor.F16, 1, 256, 1, 8), quanttest.Zeros("m.scales", tensor.F16, 8, 1, 1, 1))},
		{"VPTQ", "vptq", quanttest.Model(quanttest.Method("vptq", ""), quanttest.Zeros("m.indices", tensor.I32, 1, 8, 8), quanttest.Zeros("m.centroids.weight", tensor.F16, 1, 16))},
		{"QuIP#", "quip-sharp", quanttest.Model("", quanttest.Zeros("m.Qidxs", tensor.I64, 8, 8), quanttest.Zeros("m.SU", tensor.F16, 8), quanttest.Zeros("m.SV", tensor.F16, 8))},
		{"SpQR", "spqr", quanttest.Model(quanttest.Method("spqr", ""), quanttest.Zeros("m.dense_weights", tensor.I64, 8), quanttest.Zeros("m.row_offsets", tensor.I32, 8), quanttest.Zeros("m.col_vals", tensor.I32, 8), quanttest.Zeros("m.in_perm", tensor.I16, 8))},
		{"SVDQuant", "unquantized", quanttest.Model("", quanttest.Zeros("m.qweight", tensor.I8, 64, 32), quanttest.Zeros("m.wscales", tensor.BF16, 1, 64), quanttest.Zeros("m.smooth_factor", tensor.BF16, 64), quanttest.Zeros("m.proj_down", tensor.BF16, 64, 32))},
		{"NVFP4 with SVD", "modelopt", quanttest.Model("", quanttest.Zeros("m.weight", tensor.U8, 4, 16), quanttest.Zeros("m.weight_scale", tensor.F8E4M3, 4, 2), quanttest.Zeros("m.weight_scale_2", tensor.F32), quanttest.Zeros("m.svdquant_lora_a", tensor.BF16, 2, 32))},
		{"Marlin", "GPTQ", quanttest.Model("", quanttest.Zeros("m.B", tensor.I32, 4, 64), quanttest.Zeros("m.s", tensor.F16, 1, 32))},
		{"Marlin 2:4", "before compression", quanttest.Model("", quanttest.Zeros("m.weight_packed", tensor.I32, 4, 64), quanttest.Zeros("m.scale_packed", tensor.F16, 1, 32), quanttest.Zeros("m.meta", tensor.I16, 4, 8))},
		{"EETQ", "unquantized", quanttest.Model("", quanttest.Zeros("m.weight", tensor.I8, 8, 4), quanttest.Zeros("m.weight_scales", tensor.F16, 4))},
		{"HIGGS", "transformers", quanttest.Model(quanttest.Method("higgs", ""), quanttest.Zeros("m.weight", tensor.I16, 8, 4), quanttest.Zeros("m.scales", tensor.F16, 4, 1), quanttest.Zeros("m.tables", tensor.F16, 16), quanttest.Zeros("m.tables2", tensor.F16, 16, 16, 2))},
		{"FP-Quant", "unquantized", quanttest.Model(quanttest.Method("fp_quant", ""), quanttest.Zeros("m.qweight", tensor.U8, 8, 16), quanttest.Zeros("m.scales", tensor.U8, 8, 1))},
		{"SINQ", "unquantized", quanttest.Model("", quanttest.Zeros("m.W_q", tensor.U8, 8, 16), quanttest.Zeros("m.meta", tensor.U8, 8))},
		{"Four Over Six", "unquantized", quanttest.Model(quanttest.Method("fouroversix", ""), quanttest.Zeros("m.quantized_weight_values", tensor.U8, 8, 16))},
		{"MXFP6", "compressed-tensors", quanttest.Model("", quanttest.Zeros("m.weight_packed", tensor.U8, 4, 48), quanttest.Zeros("m.weight_scale", tensor.U8, 4, 2))},
		{"Quark's packed integers", "amd-quark", quanttest.Model(quanttest.Method("quark", ""), quanttest.Zeros("m.weight", tensor.I32, 64, 8), quanttest.Zeros("m.weight_scale", tensor.F32, 2, 64))},
		{"GPTQModel's planar GPTQ", "gptqmodel", quanttest.Model(quanttest.Method("gptq", `,"checkpoint_format":"gptq_p","bits":5`), quanttest.Zeros("m.qweight", tensor.I32, 10, 32), quanttest.Zeros("m.qzeros", tensor.I32, 1, 5), quanttest.Zeros("m.scales", tensor.F16, 1, 32))},
		{"BitBLAS", "GPTQ", quanttest.Model(quanttest.Method("gptq", `,"checkpoint_format":"bitblas"`), quanttest.Zeros("m.qweight", tensor.I8, 10, 32), quanttest.Zeros("m.scales", tensor.F16, 1, 32))},
		{"NVFP4 with E5M3 scales", "auto-round", quanttest.Model(quanttest.Method("auto-round", `,"packing_format":"auto_round:llm_compressor_nvfp4_e5m3"`),
			quanttest.Zeros("m.weight_packed", tensor.U8, 4, 16), quanttest.Zeros("m.weight_scale", tensor.U8, 4, 2))},
		{"Humming", "unquantized", quanttest.Model(quanttest.Method("humming", ""), quanttest.Zeros("m.weight", tensor.I32, 4, 64))},
		{"GGUF blocks of other files", "gptqmodel", quanttest.Model(quanttest.Method("gguf", ""), quanttest.Zeros("m.qweight", tensor.U8, 4, 144))},
		{"QQQ", "gptqmodel", quanttest.Model(quanttest.Method("qqq", ""), quanttest.Zeros("m.B", tensor.I32, 4, 64), quanttest.Zeros("m.s_channel", tensor.F32, 1, 32), quanttest.Zeros("m.s_group", tensor.F16, 1, 32))},
		{"ParoQuant", "paroquant", quanttest.Model(quanttest.Method("awq", `,"bits":4,"group_size":32`), quanttest.Zeros("m.qweight", tensor.I32, 64, 8), quanttest.Zeros("m.qzeros", tensor.I32, 2, 8), quanttest.Zeros("m.scales", tensor.F16, 2, 64),
			quanttest.Zeros("m.theta", tensor.F16, 8, 32), quanttest.Zeros("m.pairs", tensor.I16, 8, 64), quanttest.Zeros("m.channel_scales", tensor.F16, 1, 64))},
		{"ModelSlim", "unquantized", quanttest.Model("", quanttest.Zeros("m.weight", tensor.I8, 4, 32), quanttest.Zeros("m.weight_scale", tensor.F32, 4, 1), quanttest.Zeros("m.weight_offset", tensor.F32, 4, 1))},
		{"AutoRound's rotation", "unquantized", quanttest.Model(quanttest.Method("auto-round", `,"bits":4,"group_size":32,"rotation_config":{"hadamard_type":"hadamard"}`),
			quanttest.Zeros("m.qweight", tensor.I32, 8, 32), quanttest.Zeros("m.qzeros", tensor.I32, 2, 4), quanttest.Zeros("m.scales", tensor.F16, 2, 32))},
		{"Quark's rotation", "unquantized", quanttest.Model(quanttest.Method("quark", `,"algo_config":[{"name":"rotation","r1":true}]`), quanttest.Zeros("m.weight", tensor.I8, 4, 32), quanttest.Zeros("m.weight_scale", tensor.F32, 4, 1))},
		// Forms of schemes that are decoded otherwise.
		{"groups of 128", "optimum-quanto", quanttest.Model(quanttest.Method("quanto", ""), quanttest.Zeros("m.weight._data._data", tensor.U8, 4, 128), quanttest.Zeros("m.weight._scale", tensor.F32, 8, 1), quanttest.Zeros("m.weight._shift", tensor.F32, 8, 1))},
		{"float6_e3m2fn", "sdnq", quanttest.Model(quanttest.Method("sdnq", `,"weights_dtype":"float6_e3m2fn"`), quanttest.Zeros("m.weight", tensor.U8, 16, 3), quanttest.Zeros("m.scale", tensor.F32, 2, 1))},
		{"use_codebook", "sdnq", quanttest.Model(quanttest.Method("sdnq", `,"weights_dtype":"uint4","use_codebook":true`), quanttest.Zeros("m.weight", tensor.U8, 16), quanttest.Zeros("m.scale", tensor.F32, 2, 16))},
		{"use_quantized_matmul", "m.scale", quanttest.Model(quanttest.Method("sdnq", `,"weights_dtype":"int8","use_quantized_matmul":true`), quanttest.Zeros("m.weight", tensor.I8, 32, 64), quanttest.Zeros("m.scale", tensor.F32, 1, 64))},
		{"MXTensor", "dequantize()", torchaoOf(`{"_type":"MXTensor","_data":{"elem_dtype":"fp6_e3m2","block_size":32,"is_swizzled_scales":false}}`, quanttest.Zeros("m._weight_qdata", tensor.U8, 4, 32), quanttest.Zeros("m._weight_scale", tensor.F8E8M0, 4, 1))},
		{"GPU kernel", "save the model", quanttest.Model("", quanttest.Zeros("m.weight", tensor.I8, 4, 32), quanttest.Zeros("m.SCB", tensor.F32, 4), quanttest.Stored{Name: "m.weight_format", DType: tensor.U8, Shape: nil, Data: []byte{3}})},
		{"convrot", "ComfyUI", quanttest.Model("", quanttest.Zeros("m.weight", tensor.I8, 4, 32), quanttest.Stored{Name: "m.comfy_quant", DType: tensor.U8, Shape: []int64{25}, Data: []byte(`{"format":"convrot_w4a4"} `)})},
		{"W4A8", "two scales", quanttest.Model("", quanttest.Zeros("m.weight", tensor.U8, 4, 32), quanttest.Zeros("m.weight_scale", tensor.F32, 8, 1), quanttest.Zeros("m.weight_scale_2", tensor.F32))},
	} {
		t.Run(tc.scheme, func(t *testing.T) {
			seen[tc.scheme] = true
			bound, _, err := quanttest.Plan(t, tc.m, quant.Options{})
			if wire.ClassOf(err) != wire.Unsupported {
				t.Fatalf("%v, %+v", err, bound)
			}
			for _, want := range []string{tc.scheme, tc.remedy} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if !quant.Any(tc.m) {
				t.Error("nothing is seen in it")
			}
		})
	}
	_, refused := quant.Schemes()
	for _, name := range refused {
		if !seen[name] {
			t.Errorf("no model of %s", name)
		}
	}
}

// torchaoOf is a model with a description of m.weight in its metadata.
func torchaoOf(text string, tensors ...quanttest.Stored) tensor.Model {
	return &quanttest.Pickled{Model: quanttest.Model("", tensors...), Entries: []quanttest.Entry{{Key: "tensor_names", Value: `["m.weight"]`}, {Key: "m.weight", Value: text}}}
}
