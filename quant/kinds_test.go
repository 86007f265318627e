package quant_test

import (
	"fmt"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

func sdnqOf(more string) tensor.Model {
	return quanttest.Model(quanttest.Method("sdnq", `,"weights_dtype":"int8"`+more), quanttest.Zeros("m.weight", tensor.I8, 4, 64), quanttest.Zeros("m.scale", tensor.F32, 4, 1))
}

func comfyOf(description string) tensor.Model {
	return quanttest.Model("", quanttest.Zeros("m.weight", tensor.I8, 4, 256), quanttest.Zeros("m.weight_scale", tensor.F32, 4, 1),
		quanttest.Stored{Name: "m.comfy_quant", DType: tensor.U8, Shape: []int64{int64(len(description))}, Data: []byte(description)})
}

func mlxFloats(mode string, bits, group int) tensor.Model {
	return quanttest.Model(fmt.Sprintf(`{"quantization":{"bits":%d,"group_size":%d,"mode":%q}}`, bits, group, mode),
		quanttest.Zeros("m.weight", tensor.U32, 2, 16), quanttest.Zeros("m.scales", tensor.U8, 2, int64(16*32/bits/group)))
}

func gptqOfKinds(more string) tensor.Model {
	return quanttest.Model(quanttest.Method("gptq", `,"bits":4,"group_size":32`+more), quanttest.Zeros("m.qweight", tensor.I32, 8, 64), quanttest.Zeros("m.qzeros", tensor.I32, 2, 8), quanttest.Zeros("m.scales", tensor.F16, 2, 64))
}

// A value that matters must have the kind that its library writes: Python takes 1 and "false" for
// true, so ignoring such a value would decode other numbers.
func TestValuesThatDecideAreOfTheKindThatLibrariesWrite(t *testing.T) {
	packed := func(weights string) tensor.Model {
		return quanttest.Model(quanttest.Method("compressed-tensors", `,"config_groups":{"g":{"targets":["Linear"],"weights":{"num_bits":8,"type":"int",`+weights+`}}}`),
			quanttest.Zeros("m.weight", tensor.I8, 8, 64), quanttest.Zeros("m.weight_scale", tensor.F32, 8, 1))
	}
	for what, m := range map[string]tensor.Model{
		"a rotation of SDNQ by 1, which Python holds true": sdnqOf(`,"use_hadamard":1`),
		"a rotation of SDNQ as a text":                     sdnqOf(`,"use_hadamard":"true"`),
		"a rotation of SDNQ of one module":                 sdnqOf(`,"modules_quant_config":{"m.weight":{"use_hadamard":[1]}}`),
		"a method that is a list":                          quanttest.Model(`{"quantization_config":{"quant_method":["sdnq"],"weights_dtype":"int8"}}`, quanttest.Zeros("m.weight", tensor.I8, 4, 64), quanttest.Zeros("m.weight_scale", tensor.F32, 4, 1)),
		"a format of GPTQ in a list":                       gptqOfKinds(`,"checkpoint_format":["gptq_v2"]`),
		"symmetric codes as a number":                      packed(`"symmetric":0`),
		"symmetric codes as a text":                        packed(`"symmetric":"false"`),
		"a strategy that is a number":                      packed(`"strategy":1`),
		"modules to leave out as a text":                   quanttest.Model(quanttest.Method("fp8", `,"modules_to_not_convert":"m"`), quanttest.Zeros("m.weight", tensor.F8E4M3, 8, 64)),
		"modules to leave out that are numbers":            quanttest.Model(quanttest.Method("fp8", `,"modules_to_not_convert":[1]`), quanttest.Zeros("m.weight", tensor.F8E4M3, 8, 64)),
		"ComfyUI's rotation by 1":                          comfyOf(`{"format":"int8_tensorwise","convrot":1}`),
		"ComfyUI's rotation as a text":                     comfyOf(`{"format":"int8_tensorwise","convrot":"yes"}`),
		"ComfyUI's description in a list":                  comfyOf(`[{"format":"int8_tensorwise","convrot":true}]`),
		"MLX's nvfp4 in groups of 32":                      mlxFloats("nvfp4", 4, 32),
		"MLX's mxfp4 in groups of 16":                      mlxFloats("mxfp4", 4, 16),
		"MLX's nvfp4 of 8 bits":                            mlxFloats("nvfp4", 8, 16),
		"MLX's mxfp8 of 4 bits":                            mlxFloats("mxfp8", 4, 32),
	} {
		if _, _, err := quanttest.Plan(t, m, quant.Options{}); wire.ClassOf(err) != wire.Malformed {
			t.Errorf("%s: class %v, want malformed: %v", what, wire.ClassOf(err), err)
		}
	}
	for what, m := range map[string]tensor.Model{
		"ComfyUI's description without a format": comfyOf(`{"convrot":true}`),
		"a mode that MLX spells otherwise":       mlxFloats("NVFP4", 4, 16),
	} {
		if _, _, err := quanttest.Plan(t, m, quant.Options{}); wire.ClassOf(err) != wire.Unsupported {
			t.Errorf("%s: class %v, want unsupported: %v", what, wire.ClassOf(err), err)
		}
	}
	for what, m := range map[string]tensor.Model{
		"SDNQ":    sdnqOf(`,"use_hadamard":false,"modules_to_not_convert":[],"version":null`),
		"GPTQ":    gptqOfKinds(`,"checkpoint_format":"gptq","sym":null,"meta":{"format":1}`),
		"packed":  packed(`"symmetric":true,"strategy":"channel"`),
		"ComfyUI": comfyOf(`{"format":"int8_tensorwise","convrot":true}`),
		"mxfp4":   mlxFloats("mxfp4", 4, 32), "nvfp4": mlxFloats("nvfp4", 4, 16), "mxfp8": mlxFloats("mxfp8", 8, 32),
	} {
		if _, _, err := quanttest.Plan(t, m, quant.Options{}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
