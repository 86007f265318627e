package quant_test

import (
	"fmt"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

func sdnqOf(more string) tensor.Model {
	return model(method("sdnq", `,"weights_dtype":"int8"`+more), ints("m.weight", tensor.I8, 4, 64), ints("m.scale", tensor.F32, 4, 1))
}

func comfyOf(description string) tensor.Model {
	return model("", ints("m.weight", tensor.I8, 4, 256), ints("m.weight_scale", tensor.F32, 4, 1),
		stored{"m.comfy_quant", tensor.U8, []int64{int64(len(description))}, []byte(description)})
}

func mlxFloats(mode string, bits, group int) tensor.Model {
	return model(fmt.Sprintf(`{"quantization":{"bits":%d,"group_size":%d,"mode":%q}}`, bits, group, mode),
		ints("m.weight", tensor.U32, 2, 16), ints("m.scales", tensor.U8, 2, int64(16*32/bits/group)))
}

func gptqOfKinds(more string) tensor.Model {
	return model(method("gptq", `,"bits":4,"group_size":32`+more), ints("m.qweight", tensor.I32, 8, 64), ints("m.qzeros", tensor.I32, 2, 8), ints("m.scales", tensor.F16, 2, 64))
}

// A value that decides is of the kind that its library writes: Python takes 1 and
// "false" for true, and what we passed over would be other numbers.
func TestValuesThatDecideAreOfTheKindThatLibrariesWrite(t *testing.T) {
	packed := func(weights string) tensor.Model {
		return model(method("compressed-tensors", `,"config_groups":{"g":{"targets":["Linear"],"weights":{"num_bits":8,"type":"int",`+weights+`}}}`),
			ints("m.weight", tensor.I8, 8, 64), ints("m.weight_scale", tensor.F32, 8, 1))
	}
	for what, m := range map[string]tensor.Model{
		"a rotation of SDNQ by 1, which Python holds true": sdnqOf(`,"use_hadamard":1`),
		"a rotation of SDNQ as a text":                     sdnqOf(`,"use_hadamard":"true"`),
		"a rotation of SDNQ of one module":                 sdnqOf(`,"modules_quant_config":{"m.weight":{"use_hadamard":[1]}}`),
		"a method that is a list":                          model(`{"quantization_config":{"quant_method":["sdnq"],"weights_dtype":"int8"}}`, ints("m.weight", tensor.I8, 4, 64), ints("m.weight_scale", tensor.F32, 4, 1)),
		"a format of GPTQ in a list":                       gptqOfKinds(`,"checkpoint_format":["gptq_v2"]`),
		"symmetric codes as a number":                      packed(`"symmetric":0`),
		"symmetric codes as a text":                        packed(`"symmetric":"false"`),
		"a strategy that is a number":                      packed(`"strategy":1`),
		"modules to leave out as a text":                   model(method("fp8", `,"modules_to_not_convert":"m"`), ints("m.weight", tensor.F8E4M3, 8, 64)),
		"modules to leave out that are numbers":            model(method("fp8", `,"modules_to_not_convert":[1]`), ints("m.weight", tensor.F8E4M3, 8, 64)),
		"ComfyUI's rotation by 1":                          comfyOf(`{"format":"int8_tensorwise","convrot":1}`),
		"ComfyUI's rotation as a text":                     comfyOf(`{"format":"int8_tensorwise","convrot":"yes"}`),
		"ComfyUI's description in a list":                  comfyOf(`[{"format":"int8_tensorwise","convrot":true}]`),
		"MLX's nvfp4 in groups of 32":                      mlxFloats("nvfp4", 4, 32),
		"MLX's mxfp4 in groups of 16":                      mlxFloats("mxfp4", 4, 16),
		"MLX's nvfp4 of 8 bits":                            mlxFloats("nvfp4", 8, 16),
		"MLX's mxfp8 of 4 bits":                            mlxFloats("mxfp8", 4, 32),
	} {
		if _, _, err := plan(t, m, quant.Options{}); wire.ClassOf(err) != wire.Malformed {
			t.Errorf("%s: class %v, want malformed: %v", what, wire.ClassOf(err), err)
		}
	}
	for what, m := range map[string]tensor.Model{
		"ComfyUI's description without a format": comfyOf(`{"convrot":true}`),
		"a mode that MLX spells otherwise":       mlxFloats("NVFP4", 4, 16),
	} {
		if _, _, err := plan(t, m, quant.Options{}); wire.ClassOf(err) != wire.Unsupported {
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
		if _, _, err := plan(t, m, quant.Options{}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// HQQ's flags say that codes or scales are kept in another way than is read here.
func TestFlagsOfHQQAreRefusedWhereTheyAreSet(t *testing.T) {
	number := func(name string, v byte) stored { return stored{name, tensor.I32, nil, []byte{v, 0, 0, 0}} }
	weight := []stored{ints("m.W_q", tensor.U8, 24, 32), number("m.nbits", 4), number("m.axis", 1), ints("m.scale", tensor.F16, 48, 1), ints("m.zero", tensor.F16, 48, 1),
		{"m.shape", tensor.I64, []int64{2}, append([]byte{7: 0, 0: 24}, []byte{7: 0, 0: 64}...)}}
	for _, name := range []string{"m.quant_scale", "m.quant_zero", "m.view_as_float"} {
		for v, class := range map[byte]wire.Class{0: wire.OK, 1: wire.Unsupported} {
			m := model("", append(weight[:len(weight):len(weight)], stored{name, tensor.U8, nil, []byte{v}})...)
			if _, _, err := plan(t, m, quant.Options{}); wire.ClassOf(err) != class {
				t.Errorf("%s %d: class %v, want %v: %v", name, v, wire.ClassOf(err), class, err)
			}
		}
	}
}
