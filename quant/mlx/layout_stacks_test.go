package mlx_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/google/go-cmp/cmp"
)

// mlxExperts are two experts of 32 inputs and 2 inner numbers as mlx-lm has them:
// three stacks whose codes are their own, so that each number says where it was.
func mlxExperts(arch, stem string, biases bool, change func([]quanttest.Stored) []quanttest.Stored) tensor.Model {
	var tensors []quanttest.Stored
	for k, layer := range []struct {
		name          string
		outputs, cols int64
	}{{"gate_proj", 2, 32}, {"up_proj", 2, 32}, {"down_proj", 32, 32}} {
		name := stem + layer.name
		w := quanttest.Zeros(name+".weight", tensor.U32, 2, layer.outputs, layer.cols/4)
		for i := range w.Data {
			w.Data[i] = byte(i)
		}
		s, b := quanttest.Zeros(name+".scales", tensor.F32, 2, layer.outputs, 1), quanttest.Zeros(name+".biases", tensor.F32, 2, layer.outputs, 1)
		for i := range 2 * layer.outputs {
			copy(s.Data[4*i:], quanttest.F32(1))
			copy(b.Data[4*i:], quanttest.F32(float32(1000*(k+1)+256*int(i*32/256))))
		}
		tensors = append(tensors, w, s, b)
		if biases {
			bias := quanttest.Zeros(name+".bias", tensor.F32, 2, layer.outputs)
			for i := range 2 * layer.outputs {
				copy(bias.Data[4*i:], quanttest.F32(float32(10000*(k+1)+int(i))))
			}
			tensors = append(tensors, bias)
		}
	}
	if change != nil {
		tensors = change(tensors)
	}
	return quanttest.Model(`{"model_type":"`+arch+`","quantization":{"bits":8,"group_size":32}}`, tensors...)
}

func TestStacksOfMLXAreFusedAsTheArchitectureHasThem(t *testing.T) {
	for _, arch := range []struct {
		name, stem  string
		interleaved bool
	}{
		{"gpt_oss", "model.layers.0.mlp.experts.", true},
		{"llama4_text", "model.layers.0.feed_forward.experts.", false},
		{"llama4", "language_model.model.layers.0.feed_forward.experts.", false},
	} {
		t.Run(arch.name, func(t *testing.T) {
			want := map[string][]float32{}
			gateUp, down := fmt.Sprintf("%sgate_up_proj[2 32 4]", arch.stem), fmt.Sprintf("%sdown_proj[2 32 32]", arch.stem)
			for e := range 2 {
				for in := range 32 {
					order := [][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}} // stack and output
					if arch.interleaved {
						order = [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}}
					}
					for _, o := range order {
						want[gateUp] = append(want[gateUp], quanttest.Expert(o[0], e, 2, o[1], in))
					}
					for out := range 32 {
						want[down] = append(want[down], quanttest.Expert(2, e, 32, out, in))
					}
				}
				if arch.interleaved {
					bias := arch.stem + "gate_up_proj_bias[2 4]"
					for out := range 2 {
						want[bias] = append(want[bias], float32(10000+2*e+out), float32(20000+2*e+out))
					}
					bias = arch.stem + "down_proj_bias[2 32]"
					for out := range 32 {
						want[bias] = append(want[bias], float32(30000+32*e+out))
					}
				}
			}
			m := mlxExperts(arch.name, arch.stem, arch.interleaved, nil)
			bound, b, err := quanttest.Plan(t, m, quant.Options{Target: quant.F32, Folder: true})
			if err != nil || len(bound.Plain) > 0 {
				t.Fatal(err, bound)
			}
			quanttest.InRows(t, m, bound.Weights, want)
			got := map[string][]float32{}
			for n, err := range bound.All(b, m, quant.F32) {
				if err != nil {
					t.Fatal(err)
				}
				got[fmt.Sprint(n.Name, n.Shape)] = append([]float32(nil), quanttest.Floats(n.Data)...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStacksOfMLXThatCannotBeFusedAreNamed(t *testing.T) {
	stem := "model.layers.0.mlp.experts."
	without := func(part string) func([]quanttest.Stored) []quanttest.Stored {
		return func(all []quanttest.Stored) (kept []quanttest.Stored) {
			for _, s := range all {
				if s.Name != stem+part && !strings.HasPrefix(s.Name, stem+part+".") {
					kept = append(kept, s)
				}
			}
			return kept
		}
	}
	with := func(change func(*quanttest.Stored)) func([]quanttest.Stored) []quanttest.Stored {
		return func(all []quanttest.Stored) []quanttest.Stored {
			for i := range all {
				change(&all[i])
			}
			return all
		}
	}
	for _, test := range []struct {
		name   string
		change func([]quanttest.Stored) []quanttest.Stored
		says   string
	}{
		{"no up_proj", without("up_proj"), "up_proj"},
		{"a stack that is not quantized", func(all []quanttest.Stored) []quanttest.Stored {
			return append(without("up_proj")(all), quanttest.Zeros(stem+"up_proj.weight", tensor.F32, 2, 2, 32))
		}, "up_proj"},
		{"a bias too few", without("up_proj.bias"), "a bias for"},
		{"a bias of another length", with(func(s *quanttest.Stored) {
			if s.Name == stem+"up_proj.bias" {
				*s = quanttest.Zeros(s.Name, tensor.F32, 2, 3)
			}
		}), "up_proj.bias"},
		{"a bias of whole numbers", with(func(s *quanttest.Stored) {
			if s.Name == stem+"up_proj.bias" {
				*s = quanttest.Zeros(s.Name, tensor.I32, 2, 2)
			}
		}), "I32"},
		{"more experts in one stack", with(func(s *quanttest.Stored) {
			if strings.HasPrefix(s.Name, stem+"up_proj.") {
				s.Shape[0] = 3
				s.Data = make([]byte, len(s.Data)/2*3)
			}
		}), "up_proj.weight"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := quanttest.Plan(t, mlxExperts("gpt_oss", stem, true, test.change), quant.Options{Folder: true})
			if err == nil || !strings.Contains(err.Error(), test.says) || wire.ClassOf(err) != wire.Malformed && wire.ClassOf(err) != wire.Unsupported {
				t.Errorf("error %v", err)
			}
			if _, _, err := quanttest.Plan(t, mlxExperts("gpt_oss", stem, true, test.change), quant.Options{}); err != nil {
				t.Errorf("a file keeps its own: %v", err)
			}
		})
	}
}

func TestAModuleOfMLXHasTheModeOfItsOwnEntry(t *testing.T) {
	w, s, b := quanttest.Zeros("m.weight", tensor.U32, 1, 8), quanttest.Zeros("m.scales", tensor.F32, 1, 1), quanttest.Zeros("m.biases", tensor.F32, 1, 1)
	copy(b.Data, quanttest.F32(3))
	own := `{"quantization":{"bits":4,"group_size":32,"mode":"mxfp4","m":%s}}`
	_, got := quanttest.Decoded(t, quanttest.Model(fmt.Sprintf(own, `{"bits":8,"group_size":32}`), w, s, b), quant.Options{Target: quant.F32})
	want := make([]float32, 32)
	for i := range want {
		want[i] = 3
	}
	if diff := cmp.Diff(want, quanttest.Floats(got)); diff != "" {
		t.Error(diff)
	}
	for entry, says := range map[string]string{"false": "is not quantized", `{"bits":8}`: "groups of 64", `{"bits":8,"group_size":"32"}`: "group_size"} {
		if _, _, err := quanttest.Plan(t, quanttest.Model(fmt.Sprintf(own, entry), w, s, b), quant.Options{}); wire.ClassOf(err) != wire.Malformed || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v", entry, err)
		}
	}
}

// mlx_lm.convert writes null where its mixed recipes are given no group size; the layers
// of MLX take the default of their mode then.
func TestMissingMLXSettingsAreTheDefaultsOfTheMode(t *testing.T) {
	affine := func(words int64) tensor.Model {
		return quanttest.Model(`{"quantization":{"bits":4,"group_size":null,"mode":"affine","m":{"bits":3,"group_size":null,"mode":"affine"},"n":{"bits":8}}}`,
			quanttest.Zeros("m.weight", tensor.U32, 1, words), quanttest.Zeros("m.scales", tensor.F32, 1, 1), quanttest.Zeros("m.biases", tensor.F32, 1, 1),
			quanttest.Zeros("n.weight", tensor.U32, 1, 16), quanttest.Zeros("n.scales", tensor.F32, 1, 1), quanttest.Zeros("n.biases", tensor.F32, 1, 1),
			quanttest.Zeros("o.weight", tensor.U32, 1, 8), quanttest.Zeros("o.scales", tensor.F32, 1, 1), quanttest.Zeros("o.biases", tensor.F32, 1, 1))
	}
	bound, _, err := quanttest.Plan(t, affine(6), quant.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range bound.Weights {
		if w.Cols() != 64 {
			t.Errorf("%s: %d columns", w.Name, w.Cols())
		}
	}
	if _, _, err := quanttest.Plan(t, affine(3), quant.Options{}); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("groups of 32: %v", err)
	}
	for _, text := range []string{"", `{}`, `{"quantization":{}}`, `{"quantization":{"bits":4}}`} { // mlx_lm needs both of the model
		m := quanttest.Model(text, quanttest.Zeros("m.weight", tensor.U32, 1, 8), quanttest.Zeros("m.scales", tensor.F32, 1, 1), quanttest.Zeros("m.biases", tensor.F32, 1, 1))
		if _, _, err := quanttest.Plan(t, m, quant.Options{}); wire.ClassOf(err) != wire.Malformed || !strings.Contains(err.Error(), "group_size") {
			t.Errorf("%s: %v", text, err)
		}
	}
	small := func(mode, entry string, scales int64) tensor.Model {
		return quanttest.Model(fmt.Sprintf(`{"quantization":{"bits":4,"group_size":64,"m":{"mode":%q%s}}}`, mode, entry),
			quanttest.Zeros("m.weight", tensor.U32, 1, 16), quanttest.Zeros("m.scales", tensor.U8, 1, scales))
	}
	for mode, scales := range map[string]int64{"mxfp4": 4, "nvfp4": 8, "mxfp8": 2} {
		if _, _, err := quanttest.Plan(t, small(mode, "", scales), quant.Options{}); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	for entry, want := range map[string]wire.Class{`,"global_scale":true`: wire.Malformed, `,"global_scale":1`: wire.Unsupported, `,"global_scale":false`: wire.OK} {
		if _, _, err := quanttest.Plan(t, small("nvfp4", entry, 8), quant.Options{}); wire.ClassOf(err) != want {
			t.Errorf("%s: %v", entry, err)
		}
	}
	if _, _, err := quanttest.Plan(t, small("mxfp4", `,"global_scale":true`, 4), quant.Options{}); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("a global scale of mxfp4: %v", err)
	}
}

func TestAGlobalScaleOfMLXMultipliesEachMatrix(t *testing.T) {
	w, s := quanttest.Zeros("m.weight", tensor.U32, 2, 1, 2), quanttest.Zeros("m.scales", tensor.U8, 2, 1, 1)
	for i := range w.Data {
		w.Data[i] = 0x22 // ones
	}
	s.Data[0], s.Data[1] = 0x38, 0x38 // ones
	global := quanttest.Stored{Name: "m.global_scale", DType: tensor.F32, Shape: []int64{2}, Data: quanttest.F32(2688, 5)}
	config := `{"quantization":{"bits":4,"group_size":16,"mode":"nvfp4"}}`
	_, got := quanttest.Decoded(t, quanttest.Model(config, w, s, global), quant.Options{Target: quant.F32})
	numbers := quanttest.Floats(got)
	if numbers[0] != 1 || math.Float32bits(numbers[16]) != math.Float32bits(float32(5)/2688) {
		t.Errorf("%v", numbers)
	}
	global.Shape, global.Data = []int64{3}, quanttest.F32(1, 2, 3)
	if _, _, err := quanttest.Plan(t, quanttest.Model(config, w, s, global), quant.Options{}); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("three for two matrices: %v", err)
	}
}
