package quant_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// mlxExperts are two experts of 32 inputs and 2 inner numbers as mlx-lm has them:
// three stacks whose codes are their own, so that each number says where it was.
func mlxExperts(arch, stem string, biases bool, change func([]stored) []stored) tensor.Model {
	var tensors []stored
	for k, layer := range []struct {
		name          string
		outputs, cols int64
	}{{"gate_proj", 2, 32}, {"up_proj", 2, 32}, {"down_proj", 32, 32}} {
		name := stem + layer.name
		w := ints(name+".weight", tensor.U32, 2, layer.outputs, layer.cols/4)
		for i := range w.data {
			w.data[i] = byte(i)
		}
		s, b := ints(name+".scales", tensor.F32, 2, layer.outputs, 1), ints(name+".biases", tensor.F32, 2, layer.outputs, 1)
		for i := range 2 * layer.outputs {
			copy(s.data[4*i:], f32(1))
			copy(b.data[4*i:], f32(float32(1000*(k+1)+256*int(i*32/256))))
		}
		tensors = append(tensors, w, s, b)
		if biases {
			bias := ints(name+".bias", tensor.F32, 2, layer.outputs)
			for i := range 2 * layer.outputs {
				copy(bias.data[4*i:], f32(float32(10000*(k+1)+int(i))))
			}
			tensors = append(tensors, bias)
		}
	}
	if change != nil {
		tensors = change(tensors)
	}
	return model(`{"model_type":"`+arch+`","quantization":{"bits":8,"group_size":32}}`, tensors...)
}

// expert is number c of output r of expert e of stack k, of so many outputs.
func expert(k, e, outputs, r, c int) float32 {
	return float32(1000*(k+1) + (e*outputs+r)*32 + c)
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
						want[gateUp] = append(want[gateUp], expert(o[0], e, 2, o[1], in))
					}
					for out := range 32 {
						want[down] = append(want[down], expert(2, e, 32, out, in))
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
			bound, b, err := plan(t, m, quant.Options{Target: quant.F32, Folder: true})
			if err != nil || len(bound.Plain) > 0 {
				t.Fatal(err, bound)
			}
			inRows(t, m, bound.Weights, want)
			got := map[string][]float32{}
			for n, err := range bound.All(b, m, quant.F32) {
				if err != nil {
					t.Fatal(err)
				}
				got[fmt.Sprint(n.Name, n.Shape)] = append([]float32(nil), floats(n.Data)...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStacksOfMLXThatCannotBeFusedAreNamed(t *testing.T) {
	stem := "model.layers.0.mlp.experts."
	without := func(part string) func([]stored) []stored {
		return func(all []stored) (kept []stored) {
			for _, s := range all {
				if s.name != stem+part && !strings.HasPrefix(s.name, stem+part+".") {
					kept = append(kept, s)
				}
			}
			return kept
		}
	}
	with := func(change func(*stored)) func([]stored) []stored {
		return func(all []stored) []stored {
			for i := range all {
				change(&all[i])
			}
			return all
		}
	}
	for _, test := range []struct {
		name   string
		change func([]stored) []stored
		says   string
	}{
		{"no up_proj", without("up_proj"), "up_proj"},
		{"a stack that is not quantized", func(all []stored) []stored {
			return append(without("up_proj")(all), ints(stem+"up_proj.weight", tensor.F32, 2, 2, 32))
		}, "up_proj"},
		{"a bias too few", without("up_proj.bias"), "a bias for"},
		{"a bias of another length", with(func(s *stored) {
			if s.name == stem+"up_proj.bias" {
				*s = ints(s.name, tensor.F32, 2, 3)
			}
		}), "up_proj.bias"},
		{"a bias of whole numbers", with(func(s *stored) {
			if s.name == stem+"up_proj.bias" {
				*s = ints(s.name, tensor.I32, 2, 2)
			}
		}), "I32"},
		{"more experts in one stack", with(func(s *stored) {
			if strings.HasPrefix(s.name, stem+"up_proj.") {
				s.shape[0] = 3
				s.data = make([]byte, len(s.data)/2*3)
			}
		}), "up_proj.weight"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := plan(t, mlxExperts("gpt_oss", stem, true, test.change), quant.Options{Folder: true})
			if err == nil || !strings.Contains(err.Error(), test.says) || wire.ClassOf(err) != wire.Malformed && wire.ClassOf(err) != wire.Unsupported {
				t.Errorf("error %v", err)
			}
			if _, _, err := plan(t, mlxExperts("gpt_oss", stem, true, test.change), quant.Options{}); err != nil {
				t.Errorf("a file keeps its own: %v", err)
			}
		})
	}
}

func TestAModuleOfMLXHasTheModeOfItsOwnEntry(t *testing.T) {
	w, s, b := ints("m.weight", tensor.U32, 1, 8), ints("m.scales", tensor.F32, 1, 1), ints("m.biases", tensor.F32, 1, 1)
	copy(b.data, f32(3))
	own := `{"quantization":{"bits":4,"group_size":32,"mode":"mxfp4","m":%s}}`
	_, got := decoded(t, model(fmt.Sprintf(own, `{"bits":8,"group_size":32}`), w, s, b), quant.Options{Target: quant.F32})
	want := make([]float32, 32)
	for i := range want {
		want[i] = 3
	}
	if diff := cmp.Diff(want, floats(got)); diff != "" {
		t.Error(diff)
	}
	for entry, says := range map[string]string{"false": "is not quantized", `{"bits":8}`: "groups of 64", `{"bits":8,"group_size":"32"}`: "group_size"} {
		if _, _, err := plan(t, model(fmt.Sprintf(own, entry), w, s, b), quant.Options{}); wire.ClassOf(err) != wire.Malformed || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error %v", entry, err)
		}
	}
}

// mlx_lm.convert writes null where its mixed recipes are given no group size; the layers
// of MLX take the default of their mode then.
func TestWhatMLXIsNotToldIsItsModesDefault(t *testing.T) {
	affine := func(words int64) tensor.Model {
		return model(`{"quantization":{"bits":4,"group_size":null,"mode":"affine","m":{"bits":3,"group_size":null,"mode":"affine"},"n":{"bits":8}}}`,
			ints("m.weight", tensor.U32, 1, words), ints("m.scales", tensor.F32, 1, 1), ints("m.biases", tensor.F32, 1, 1),
			ints("n.weight", tensor.U32, 1, 16), ints("n.scales", tensor.F32, 1, 1), ints("n.biases", tensor.F32, 1, 1),
			ints("o.weight", tensor.U32, 1, 8), ints("o.scales", tensor.F32, 1, 1), ints("o.biases", tensor.F32, 1, 1))
	}
	bound, _, err := plan(t, affine(6), quant.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range bound.Weights {
		if w.Cols() != 64 {
			t.Errorf("%s: %d columns", w.Name, w.Cols())
		}
	}
	if _, _, err := plan(t, affine(3), quant.Options{}); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("groups of 32: %v", err)
	}
	for _, text := range []string{"", `{}`, `{"quantization":{}}`, `{"quantization":{"bits":4}}`} { // mlx_lm needs both of the model
		m := model(text, ints("m.weight", tensor.U32, 1, 8), ints("m.scales", tensor.F32, 1, 1), ints("m.biases", tensor.F32, 1, 1))
		if _, _, err := plan(t, m, quant.Options{}); wire.ClassOf(err) != wire.Malformed || !strings.Contains(err.Error(), "group_size") {
			t.Errorf("%s: %v", text, err)
		}
	}
	small := func(mode, entry string, scales int64) tensor.Model {
		return model(fmt.Sprintf(`{"quantization":{"bits":4,"group_size":64,"m":{"mode":%q%s}}}`, mode, entry),
			ints("m.weight", tensor.U32, 1, 16), ints("m.scales", tensor.U8, 1, scales))
	}
	for mode, scales := range map[string]int64{"mxfp4": 4, "nvfp4": 8, "mxfp8": 2} {
		if _, _, err := plan(t, small(mode, "", scales), quant.Options{}); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	for entry, want := range map[string]wire.Class{`,"global_scale":true`: wire.Malformed, `,"global_scale":1`: wire.Unsupported, `,"global_scale":false`: wire.OK} {
		if _, _, err := plan(t, small("nvfp4", entry, 8), quant.Options{}); wire.ClassOf(err) != want {
			t.Errorf("%s: %v", entry, err)
		}
	}
	if _, _, err := plan(t, small("mxfp4", `,"global_scale":true`, 4), quant.Options{}); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("a global scale of mxfp4: %v", err)
	}
}

func TestAGlobalScaleOfMLXMultipliesEachMatrix(t *testing.T) {
	w, s := ints("m.weight", tensor.U32, 2, 1, 2), ints("m.scales", tensor.U8, 2, 1, 1)
	for i := range w.data {
		w.data[i] = 0x22 // ones
	}
	s.data[0], s.data[1] = 0x38, 0x38 // ones
	global := stored{"m.global_scale", tensor.F32, []int64{2}, f32(2688, 5)}
	config := `{"quantization":{"bits":4,"group_size":16,"mode":"nvfp4"}}`
	_, got := decoded(t, model(config, w, s, global), quant.Options{Target: quant.F32})
	numbers := floats(got)
	if numbers[0] != 1 || math.Float32bits(numbers[16]) != math.Float32bits(float32(5)/2688) {
		t.Errorf("%v", numbers)
	}
	global.shape, global.data = []int64{3}, f32(1, 2, 3)
	if _, _, err := plan(t, model(config, w, s, global), quant.Options{}); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("three for two matrices: %v", err)
	}
}
