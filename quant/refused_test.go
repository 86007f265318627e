package quant_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// ints is a tensor of zeros.
func ints(name string, dtype tensor.DType, shape ...int64) stored {
	g, _ := dtype.Geometry()
	n := uint64(1)
	for _, d := range shape {
		n *= uint64(d)
	}
	size, _ := g.Size(n)
	return stored{name, dtype, shape, make([]byte, size)}
}

// method is a configuration of one quant_method and more.
func method(name, more string) string {
	return `{"quantization_config":{"quant_method":"` + name + `"` + more + `}}`
}

// One model per row of what is known and not decoded, as its library names its
// tensors; the error names the scheme and who could convert it.
func TestSchemesThatAreNotDecodedAreNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, tc := range []struct {
		scheme, remedy string
		m              tensor.Model
	}{
		{"EXL3", "exllamav3", model("", ints("m.trellis", tensor.I16, 4, 4, 64), ints("m.suh", tensor.F16, 64), ints("m.svh", tensor.F16, 64))},
		{"EXL3", "exllamav3", model("", ints("m.trellis", tensor.I16, 4, 4, 64), ints("m.su", tensor.I16, 4), ints("m.sv", tensor.I16, 4))},
		{"EXL2", "exllamav2", model("", ints("m.q_weight", tensor.I32, 8, 64), ints("m.q_scale", tensor.I32, 2, 8), ints("m.q_scale_max", tensor.F16, 2), ints("m.q_groups", tensor.I16, 4))},
		{"AQLM", "aqlm", model(method("aqlm", ""), ints("m.codes", tensor.I8, 8, 8, 1), ints("m.codebooks", tensor.F16, 1, 256, 1, 8), ints("m.scales", tensor.F16, 8, 1, 1, 1))},
		{"VPTQ", "vptq", model(method("vptq", ""), ints("m.indices", tensor.I32, 1, 8, 8), ints("m.centroids.weight", tensor.F16, 1, 16))},
		{"QuIP#", "quip-sharp", model("", ints("m.Qidxs", tensor.I64, 8, 8), ints("m.SU", tensor.F16, 8), ints("m.SV", tensor.F16, 8))},
		{"SpQR", "spqr", model(method("spqr", ""), ints("m.dense_weights", tensor.I64, 8), ints("m.row_offsets", tensor.I32, 8), ints("m.col_vals", tensor.I32, 8), ints("m.in_perm", tensor.I16, 8))},
		{"SVDQuant", "unquantized", model("", ints("m.qweight", tensor.I8, 64, 32), ints("m.wscales", tensor.BF16, 1, 64), ints("m.smooth_factor", tensor.BF16, 64), ints("m.proj_down", tensor.BF16, 64, 32))},
		{"NVFP4 with SVD", "modelopt", model("", ints("m.weight", tensor.U8, 4, 16), ints("m.weight_scale", tensor.F8E4M3, 4, 2), ints("m.weight_scale_2", tensor.F32), ints("m.svdquant_lora_a", tensor.BF16, 2, 32))},
		{"Marlin", "GPTQ", model("", ints("m.B", tensor.I32, 4, 64), ints("m.s", tensor.F16, 1, 32))},
		{"Marlin 2:4", "before compression", model("", ints("m.weight_packed", tensor.I32, 4, 64), ints("m.scale_packed", tensor.F16, 1, 32), ints("m.meta", tensor.I16, 4, 8))},
		{"EETQ", "unquantized", model("", ints("m.weight", tensor.I8, 8, 4), ints("m.weight_scales", tensor.F16, 4))},
		{"HIGGS", "transformers", model(method("higgs", ""), ints("m.weight", tensor.I16, 8, 4), ints("m.scales", tensor.F16, 4, 1), ints("m.tables", tensor.F16, 16), ints("m.tables2", tensor.F16, 16, 16, 2))},
		{"FP-Quant", "unquantized", model(method("fp_quant", ""), ints("m.qweight", tensor.U8, 8, 16), ints("m.scales", tensor.U8, 8, 1))},
		{"SINQ", "unquantized", model("", ints("m.W_q", tensor.U8, 8, 16), ints("m.meta", tensor.U8, 8))},
		{"Four Over Six", "unquantized", model(method("fouroversix", ""), ints("m.quantized_weight_values", tensor.U8, 8, 16))},
		{"MXFP6", "compressed-tensors", model("", ints("m.weight_packed", tensor.U8, 4, 48), ints("m.weight_scale", tensor.U8, 4, 2))},
		{"Quark's packed integers", "amd-quark", model(method("quark", ""), ints("m.weight", tensor.I32, 64, 8), ints("m.weight_scale", tensor.F32, 2, 64))},
		{"GPTQModel's planar GPTQ", "gptqmodel", model(method("gptq", `,"checkpoint_format":"gptq_p","bits":5`), ints("m.qweight", tensor.I32, 10, 32), ints("m.qzeros", tensor.I32, 1, 5), ints("m.scales", tensor.F16, 1, 32))},
		{"BitBLAS", "GPTQ", model(method("gptq", `,"checkpoint_format":"bitblas"`), ints("m.qweight", tensor.I8, 10, 32), ints("m.scales", tensor.F16, 1, 32))},
		{"NVFP4 with E5M3 scales", "auto-round", model(method("auto-round", `,"packing_format":"auto_round:llm_compressor_nvfp4_e5m3"`),
			ints("m.weight_packed", tensor.U8, 4, 16), ints("m.weight_scale", tensor.U8, 4, 2))},
		{"Humming", "unquantized", model(method("humming", ""), ints("m.weight", tensor.I32, 4, 64))},
		{"GGUF blocks of other files", "gptqmodel", model(method("gguf", ""), ints("m.qweight", tensor.U8, 4, 144))},
		{"QQQ", "gptqmodel", model(method("qqq", ""), ints("m.B", tensor.I32, 4, 64), ints("m.s_channel", tensor.F32, 1, 32), ints("m.s_group", tensor.F16, 1, 32))},
		{"ParoQuant", "paroquant", model(method("awq", `,"bits":4,"group_size":32`), ints("m.qweight", tensor.I32, 64, 8), ints("m.qzeros", tensor.I32, 2, 8), ints("m.scales", tensor.F16, 2, 64),
			ints("m.theta", tensor.F16, 8, 32), ints("m.pairs", tensor.I16, 8, 64), ints("m.channel_scales", tensor.F16, 1, 64))},
		{"ModelSlim", "unquantized", model("", ints("m.weight", tensor.I8, 4, 32), ints("m.weight_scale", tensor.F32, 4, 1), ints("m.weight_offset", tensor.F32, 4, 1))},
		{"AutoRound's rotation", "unquantized", model(method("auto-round", `,"bits":4,"group_size":32,"rotation_config":{"hadamard_type":"hadamard"}`),
			ints("m.qweight", tensor.I32, 8, 32), ints("m.qzeros", tensor.I32, 2, 4), ints("m.scales", tensor.F16, 2, 32))},
		{"Quark's rotation", "unquantized", model(method("quark", `,"algo_config":[{"name":"rotation","r1":true}]`), ints("m.weight", tensor.I8, 4, 32), ints("m.weight_scale", tensor.F32, 4, 1))},
		// Forms of schemes that are decoded otherwise.
		{"groups of 128", "optimum-quanto", model(method("quanto", ""), ints("m.weight._data._data", tensor.U8, 4, 128), ints("m.weight._scale", tensor.F32, 8, 1), ints("m.weight._shift", tensor.F32, 8, 1))},
		{"float6_e3m2fn", "sdnq", model(method("sdnq", `,"weights_dtype":"float6_e3m2fn"`), ints("m.weight", tensor.U8, 16, 3), ints("m.scale", tensor.F32, 2, 1))},
		{"use_codebook", "sdnq", model(method("sdnq", `,"weights_dtype":"uint4","use_codebook":true`), ints("m.weight", tensor.U8, 16), ints("m.scale", tensor.F32, 2, 16))},
		{"use_quantized_matmul", "m.scale", model(method("sdnq", `,"weights_dtype":"int8","use_quantized_matmul":true`), ints("m.weight", tensor.I8, 32, 64), ints("m.scale", tensor.F32, 1, 64))},
		{"MXTensor", "dequantize()", torchaoOf(`{"_type":"MXTensor","_data":{"elem_dtype":"fp6_e3m2","block_size":32,"is_swizzled_scales":false}}`, ints("m._weight_qdata", tensor.U8, 4, 32), ints("m._weight_scale", tensor.F8E8M0, 4, 1))},
		{"GPU kernel", "save the model", model("", ints("m.weight", tensor.I8, 4, 32), ints("m.SCB", tensor.F32, 4), stored{"m.weight_format", tensor.U8, nil, []byte{3}})},
		{"convrot", "ComfyUI", model("", ints("m.weight", tensor.I8, 4, 32), stored{"m.comfy_quant", tensor.U8, []int64{25}, []byte(`{"format":"convrot_w4a4"} `)})},
		{"W4A8", "two scales", model("", ints("m.weight", tensor.U8, 4, 32), ints("m.weight_scale", tensor.F32, 8, 1), ints("m.weight_scale_2", tensor.F32))},
	} {
		t.Run(tc.scheme, func(t *testing.T) {
			seen[tc.scheme] = true
			bound, _, err := plan(t, tc.m, quant.Options{})
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
func torchaoOf(text string, tensors ...stored) tensor.Model {
	return &pickled{model("", tensors...), []entry{{"tensor_names", `["m.weight"]`}, {"m.weight", text}}}
}
