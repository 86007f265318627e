package quant_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// bnbModel is a four-bit weight of 128 numbers in two blocks, whose description is
// the caller's.
func bnbModel(state string, drop ...string) tensor.Model {
	all := []quanttest.Stored{
		quanttest.Zeros("m", tensor.U8, 64, 1), quanttest.Zeros("m.absmax", tensor.U8, 2), quanttest.Zeros("m.quant_map", tensor.F32, 16),
		quanttest.Zeros("m.nested_absmax", tensor.F32, 1), quanttest.Zeros("m.nested_quant_map", tensor.F32, 256),
		{Name: "m.quant_state.bitsandbytes__nf4", DType: tensor.U8, Shape: []int64{int64(len(state))}, Data: []byte(state)},
	}
	var kept []quanttest.Stored
	for _, s := range all {
		if len(drop) == 0 || s.Name != drop[0] {
			kept = append(kept, s)
		}
	}
	return quanttest.Model("", kept...)
}

func bnbState(block, nested int, shape string) string {
	return fmt.Sprintf(`{"quant_type":"nf4","blocksize":%d,"dtype":"float16","shape":%s,"nested_blocksize":%d,"nested_dtype":"float32","nested_offset":0.5}`, block, shape, nested)
}

func mlxModel(bits, group int) tensor.Model {
	return quanttest.Model(fmt.Sprintf(`{"quantization":{"bits":%d,"group_size":%d}}`, bits, group),
		quanttest.Zeros("m.weight", tensor.U32, 2, 16), quanttest.Zeros("m.scales", tensor.BF16, 2, 2), quanttest.Zeros("m.biases", tensor.BF16, 2, 2))
}

// groupedModel has two groups of 32 columns.
func groupedModel(size string) tensor.Model {
	return quanttest.Model(fmt.Sprintf(`{"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"g":{"targets":["Linear"],"weights":{"num_bits":4,"strategy":"group","group_size":%s}}}}}`, size),
		quanttest.Zeros("m.weight_packed", tensor.I32, 2, 8), quanttest.Zeros("m.weight_scale", tensor.BF16, 2, 2),
		quanttest.Stored{Name: "m.weight_shape", DType: tensor.I64, Shape: []int64{2}, Data: []byte{2, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0}})
}

func sdnqModel(rotation int) tensor.Model {
	return quanttest.Model(fmt.Sprintf(`{"quantization_config":{"quant_method":"sdnq","weights_dtype":"int8","use_hadamard":true,"hadamard_group_size":%d}}`, rotation),
		quanttest.Zeros("m.weight", tensor.I8, 4, 40), quanttest.Zeros("m.scale", tensor.F32, 4, 1))
}

func packedModel(bits any) tensor.Model {
	return quanttest.Model(fmt.Sprintf(`{"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"g":{"targets":["Linear"],"weights":{"num_bits":%v}}}}}`, bits),
		quanttest.Zeros("m.weight_packed", tensor.I32, 2, 4), quanttest.Zeros("m.weight_scale", tensor.BF16, 2, 1),
		quanttest.Stored{Name: "m.weight_shape", DType: tensor.I64, Shape: []int64{2}, Data: []byte{2, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0}})
}

func TestBadInputIsRefusedBeforeAnythingIsDecoded(t *testing.T) {
	good := bnbState(64, 256, "[2,64]")
	gptqOf := func(config string, qzeros, scales, index quanttest.Stored) tensor.Model {
		return quanttest.Model(config, quanttest.Zeros("m.qweight", tensor.I32, 8, 64), qzeros, scales, index)
	}
	zeros, scales, index := quanttest.Zeros("m.qzeros", tensor.I32, 2, 8), quanttest.Zeros("m.scales", tensor.F16, 2, 64), quanttest.Order("m.g_idx", 1, 64)
	far := quanttest.Zeros("m.g_idx", tensor.I32, 64)
	far.Data[4*63] = 2
	before := quanttest.Zeros("m.g_idx", tensor.I32, 64)
	copy(before.Data[4*5:], []byte{0xFD, 0xFF, 0xFF, 0xFF}) // -3 of 2 groups
	huge := &tensor.File{Name: "safetensors", Source: strings.NewReader("x"), Infos: []tensor.Info{
		{Name: "m.weight", DType: tensor.F8E4M3, Shape: []int64{1 << 20, 1 << 20}, Span: tensor.Span{Len: 1 << 40}},
		{Name: "m.weight_scale", DType: tensor.F32, Span: tensor.Span{Len: 4}}}}
	for _, tc := range []struct {
		what  string
		m     tensor.Model
		class wire.Class
	}{
		{"a scale of the wrong length", quanttest.Model("", quanttest.Zeros("m.weight", tensor.F8E4M3, 4, 6), quanttest.Zeros("m.weight_scale", tensor.F32, 5)), wire.Malformed},
		{"scales of the wrong length under signed bytes", quanttest.Model("", quanttest.Zeros("m.weight", tensor.I8, 4, 6), quanttest.Zeros("m.weight_scale", tensor.F32, 3, 1)), wire.Unsupported},
		{"scales of the wrong length under nibbles", quanttest.Model("", quanttest.Zeros("m.weight_packed", tensor.U8, 4, 32), quanttest.Zeros("m.weight_scale", tensor.U8, 4, 3)), wire.Malformed},
		{"an order past the groups", gptqOf("", zeros, scales, far), wire.Malformed},
		{"an order before the groups", gptqOf("", zeros, scales, before), wire.Malformed},
		{"an order of other length", gptqOf("", zeros, scales, quanttest.Zeros("m.g_idx", tensor.I32, 63)), wire.Malformed},
		{"zero points that are too short", gptqOf("", quanttest.Zeros("m.qzeros", tensor.I32, 1, 8), scales, index), wire.Malformed},
		{"rows of zero points that are too short", gptqOf("", quanttest.Zeros("m.qzeros", tensor.I32, 2, 7), scales, index), wire.Malformed},
		{"zero points of signed bytes that are too short", quanttest.Model("", quanttest.Zeros("m.weight", tensor.I8, 4, 6), quanttest.Zeros("m.weight_scale", tensor.F32, 4, 1), quanttest.Zeros("m.weight_zero_point", tensor.I8, 3, 1)), wire.Malformed},
		{"scales of another type", gptqOf("", zeros, quanttest.Zeros("m.scales", tensor.I64, 2, 64), index), wire.Unsupported},
		{"scales of another type under FP8", quanttest.Model("", quanttest.Zeros("m.weight", tensor.F8E4M3, 4, 6), quanttest.Zeros("m.weight_scale", tensor.F64)), wire.Unsupported},
		{"a group size of 0", gptqOf(`{"quantization_config":{"quant_method":"gptq","bits":4,"group_size":0}}`, zeros, scales, index), wire.Malformed},
		{"a group size of 0 in MLX", mlxModel(4, 0), wire.Unsupported},
		{"0 bits in MLX", mlxModel(0, 64), wire.Unsupported},
		{"9 bits in MLX", mlxModel(9, 64), wire.Unsupported},
		{"33 bits in MLX", mlxModel(33, 64), wire.Unsupported},
		{"0 bits in compressed-tensors", packedModel(0), wire.Malformed},
		{"9 bits in compressed-tensors", packedModel(9), wire.Malformed},
		{"33 bits in compressed-tensors", packedModel(33), wire.Malformed},
		{"bits of compressed-tensors as a text, which its library takes for a number", packedModel(`"7"`), wire.Malformed},
		{"a group size of compressed-tensors as a text", groupedModel(`"32"`), wire.Malformed},
		{"a configuration that is a list", gptqOf(`{"quantization_config":[{"quant_method":"gptq","bits":4,"checkpoint_format":"gptq_v2"}]}`, zeros, scales, index), wire.Malformed},
		{"a rotation of SDNQ by 5", sdnqModel(5), wire.Malformed},
		{"0 bits in GPTQ", quanttest.GPTQ(`{"quantization_config":{"quant_method":"gptq","bits":0}}`, "m", 0), wire.Malformed},
		{"9 bits in GPTQ", quanttest.GPTQ(`{"quantization_config":{"quant_method":"gptq","bits":9}}`, "m", 0), wire.Malformed},
		{"33 bits in GPTQ", quanttest.GPTQ(`{"quantization_config":{"quant_method":"gptq","bits":33}}`, "m", 0), wire.Malformed},
		{"0 bits in HQQ", quanttest.Model("", quanttest.Zeros("m.W_q", tensor.U8, 4, 8), quanttest.Zeros("m.nbits", tensor.I32, 1), quanttest.Zeros("m.axis", tensor.I32, 1), quanttest.Zeros("m.shape", tensor.I64, 2)), wire.Unsupported},
		{"a description that lies about its shape", bnbModel(bnbState(64, 256, "[2,65]")), wire.Malformed},
		{"a description of 2^40 numbers", bnbModel(bnbState(64, 256, "[1048576,1048576]")), wire.Malformed},
		{"a description of more than any number", bnbModel(bnbState(64, 256, "[4294967296,4294967296]")), wire.Malformed},
		{"a description that lies about its blocks", bnbModel(bnbState(32, 256, "[2,64]")), wire.Malformed},
		{"a description without its offset", bnbModel(strings.Replace(good, `,"nested_offset":0.5`, "", 1)), wire.Malformed},
		{"a description of a type that is none", bnbModel(strings.Replace(good, `"float16"`, `"float17"`, 1)), wire.Malformed},
		{"a description without a type", bnbModel(strings.Replace(good, `"dtype":"float16",`, "", 1)), wire.Malformed},
		{"scales that are rounded to half a precision", bnbModel(strings.Replace(good, `"float32"`, `"float16"`, 1)), wire.Unsupported},
		{"a description with a key of nobody", bnbModel(strings.Replace(good, `{`, `{"rotation":1,`, 1)), wire.Unsupported},
		{"FP8 without a scale beside a scale of bitsandbytes", quanttest.Model("", quanttest.Zeros("m.weight", tensor.F8E4M3, 4, 6), quanttest.Zeros("m.SCB", tensor.F32, 4)), wire.Unsupported},
		{"FP8 without a scale beside scales of a packed weight", quanttest.Model("", quanttest.Zeros("m.weight_packed", tensor.F8E4M3, 4, 32), quanttest.Zeros("m.weight_scale", tensor.F8E4M3, 4, 4), quanttest.Zeros("m.weight_global_scale", tensor.F32, 1)), wire.Unsupported},
		{"FP8 without a scale beside scales of blocks", quanttest.Model("", quanttest.Zeros("e.gate_up_proj_blocks", tensor.F8E5M2, 2, 4, 2, 16), quanttest.Zeros("e.gate_up_proj_scales", tensor.U8, 2, 4, 2)), wire.Unsupported},
		{"blocks of 0", bnbModel(bnbState(0, 256, "[2,64]")), wire.Malformed},
		{"nested blocks of 0", bnbModel(bnbState(64, 0, "[2,64]")), wire.Malformed},
		{"nested scales that are missing", bnbModel(good, "m.nested_absmax"), wire.Malformed},
		{"a nested codebook that is missing", bnbModel(good, "m.nested_quant_map"), wire.Malformed},
		{"scales that are missing", bnbModel(good, "m.absmax"), wire.Malformed},
		{"a codebook that is missing", bnbModel(good, "m.quant_map"), wire.Malformed},
		{"a description that is cut", bnbModel(good[:40]), wire.Malformed},
		{"2^40 elements in a file of one byte", huge, wire.Limit},
	} {
		t.Run(tc.what, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			bound, _, err := quanttest.Plan(t, tc.m, quant.Options{})
			runtime.ReadMemStats(&after)
			if wire.ClassOf(err) != tc.class {
				t.Errorf("class %v, want %v: %v %+v", wire.ClassOf(err), tc.class, err, bound)
			}
			if _, placed := errors.AsType[*wire.Error](err); !placed {
				t.Errorf("no place: %v", err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
				t.Errorf("%d bytes were allocated", n)
			}
		})
	}
	t.Run("what is good", func(t *testing.T) {
		for _, m := range []tensor.Model{bnbModel(good), mlxModel(4, 64), packedModel(4), groupedModel("32"), sdnqModel(8), gptqOf("", zeros, scales, index)} {
			if _, _, err := quanttest.Plan(t, m, quant.Options{}); err != nil {
				t.Error(err)
			}
		}
	})
}
