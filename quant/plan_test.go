package quant_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/google/go-cmp/cmp"
)

func TestRealSlicesAreBoundByTheirSignature(t *testing.T) {
	t.Run("FP8 in blocks", func(t *testing.T) {
		file := fixtures.Read(t, "fp8/exaone_fine_grained.bin")
		h := quanttest.Words(file, 7)
		rest := file[28:]
		m := quanttest.Model("",
			quanttest.Stored{Name: "m.weight", DType: tensor.F8E4M3, Shape: []int64{h[2], h[3]}, Data: rest[:h[4]]},
			quanttest.Stored{Name: "m.weight_scale_inv", DType: []tensor.DType{tensor.F32, tensor.BF16, tensor.F16}[h[1]],
				Shape: []int64{(h[2] + 127) / 128, (h[3] + 127) / 128}, Data: rest[h[4] : h[4]+h[5]]})
		w, got := quanttest.Decoded(t, m, quant.Options{})
		if !bytes.Equal(got, rest[h[4]+h[5]:]) {
			t.Error("differs")
		}
		if w.Scheme != "FP8" || w.Name != "m.weight" {
			t.Errorf("%s %s", w.Scheme, w.Name)
		}
	})
	t.Run("nested NF4", func(t *testing.T) {
		file := fixtures.Read(t, "bnb/llama_1b_nf4_double_quant.bin")
		h := quanttest.Words(file, 10)
		rest := file[40:]
		var parts [][]byte
		for _, n := range h[3:9] {
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		offset := float64(math.Float32frombits(uint32(h[9])))
		state := fmt.Sprintf(`{"quant_type":"nf4","blocksize":%d,"dtype":"bfloat16","shape":[%d,64],"nested_blocksize":256,"nested_dtype":"float32","nested_offset":%v}`,
			h[2], h[1]/64, offset)
		m := quanttest.Model("",
			quanttest.Stored{Name: "m.weight", DType: tensor.U8, Shape: []int64{h[1] / 2, 1}, Data: parts[0]},
			quanttest.Stored{Name: "m.weight.absmax", DType: tensor.U8, Shape: []int64{h[4]}, Data: parts[1]},
			quanttest.Stored{Name: "m.weight.quant_map", DType: tensor.F32, Shape: []int64{16}, Data: parts[2]},
			quanttest.Stored{Name: "m.weight.nested_absmax", DType: tensor.F32, Shape: []int64{h[6] / 4}, Data: parts[3]},
			quanttest.Stored{Name: "m.weight.nested_quant_map", DType: tensor.F32, Shape: []int64{256}, Data: parts[4]},
			quanttest.Stored{Name: "m.weight.quant_state.bitsandbytes__nf4", DType: tensor.U8, Shape: []int64{int64(len(state))}, Data: []byte(state)})
		_, got := quanttest.Decoded(t, m, quant.Options{})
		if !bytes.Equal(got, parts[5]) {
			t.Error("differs")
		}
	})
	for _, name := range []string{"falcon3_1b_int4", "llama_3_2_1b_gptqmodel_int8"} {
		t.Run("GPTQ "+name, func(t *testing.T) {
			file := fixtures.Read(t, "gptq/"+name+".bin")
			h := quanttest.Words(file, 11)
			rest := file[44:]
			var parts [][]byte
			for _, n := range h[6:11] {
				parts, rest = append(parts, rest[:n]), rest[n:]
			}
			bits, group, in, out := h[0], h[1], h[2], h[3]
			tensors := []quanttest.Stored{
				{Name: "m.qweight", DType: tensor.I32, Shape: []int64{in * bits / 32, out}, Data: parts[0]},
				{Name: "m.scales", DType: []tensor.DType{tensor.F32, tensor.BF16, tensor.F16}[h[4]], Shape: []int64{in / group, out}, Data: parts[1]},
				{Name: "m.qzeros", DType: tensor.I32, Shape: []int64{in / group, out * bits / 32}, Data: parts[2]},
			}
			if h[5] != 0 {
				tensors = append(tensors, quanttest.Stored{Name: "m.g_idx", DType: tensor.I32, Shape: []int64{in}, Data: parts[3]})
			}
			w, got := quanttest.Decoded(t, quanttest.Model("", tensors...), quant.Options{})
			if diff := cmp.Diff([]int64{out, in}, w.Shape); diff != "" || w.Name != "m.weight" {
				t.Error(w.Name, diff)
			}
			for i := range in {
				for o := range out {
					if !bytes.Equal(got[2*(o*in+i):][:2], parts[4][2*(i*out+o):][:2]) {
						t.Fatalf("element %d, %d differs", o, i)
					}
				}
			}
		})
	}
}

func TestTensorsThatOnlyLookQuantizedAreKept(t *testing.T) {
	bound, _, err := quanttest.Plan(t, quanttest.Model("",
		quanttest.Stored{Name: "logit_scale", DType: tensor.F32, Shape: nil, Data: quanttest.F32(1)},
		quanttest.Stored{Name: "a.layer_scale", DType: tensor.F32, Shape: []int64{2}, Data: quanttest.F32(1, 2)},
		quanttest.Stored{Name: "b.k_scale", DType: tensor.F32, Shape: nil, Data: quanttest.F32(1)},
		quanttest.Stored{Name: "c.g_idx", DType: tensor.I32, Shape: []int64{1}, Data: quanttest.F32(0)},
		quanttest.Stored{Name: "d.weight", DType: tensor.F32, Shape: []int64{1}, Data: quanttest.F32(0)},
		quanttest.Stored{Name: "d.weight_scale", DType: tensor.F32, Shape: []int64{1}, Data: quanttest.F32(0)},
	), quant.Options{})
	if err != nil || len(bound.Weights) != 0 || len(bound.Plain) != 6 {
		t.Errorf("%+v, %v", bound, err)
	}
}

func TestScalesOfARuntimeAreLeftOut(t *testing.T) {
	m := func(config string) tensor.Model {
		return quanttest.Model(config,
			quanttest.Stored{Name: "a.weight", DType: tensor.F8E4M3, Shape: []int64{1, 2}, Data: []byte{1, 2}},
			quanttest.Stored{Name: "a.weight_scale", DType: tensor.F32, Shape: nil, Data: quanttest.F32(1)},
			quanttest.Stored{Name: "a.input_scale", DType: tensor.F32, Shape: nil, Data: quanttest.F32(1)},
			quanttest.Stored{Name: "b.input_scale", DType: tensor.F32, Shape: nil, Data: quanttest.F32(1)},
			quanttest.Stored{Name: "a.k_scale", DType: tensor.F32, Shape: nil, Data: quanttest.F32(1)},
		)
	}
	for _, tc := range []struct {
		what, config string
		o            quant.Options
		left         []string
	}{
		{"what a bound weight explains", "", quant.Options{}, []string{"a.input_scale"}},
		{"what the configuration explains", `{"quantization_config":{"quant_method":"modelopt","kv_cache_scheme":{"num_bits":8}}}`,
			quant.Options{}, []string{"a.input_scale", "a.k_scale"}},
		{"nothing when all are kept", "", quant.Options{KeepScales: true}, nil},
	} {
		t.Run(tc.what, func(t *testing.T) {
			bound, _, err := quanttest.Plan(t, m(tc.config), tc.o)
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, i := range bound.LeftOut {
				left = append(left, i.Name)
			}
			if diff := cmp.Diff(tc.left, left); diff != "" {
				t.Error(diff)
			}
			if len(bound.Plain)+len(left) != 3 {
				t.Errorf("%d plain, %d left out", len(bound.Plain), len(left))
			}
		})
	}
}

func TestWeightsThatCannotBeBoundAreRefused(t *testing.T) {
	w8 := quanttest.Stored{Name: "m.weight", DType: tensor.F8E4M3, Shape: []int64{4, 6}, Data: make([]byte, 24)}
	qweight := quanttest.Stored{Name: "m.qweight", DType: tensor.I32, Shape: []int64{1, 8}, Data: make([]byte, 32)}
	for _, tc := range []struct {
		what  string
		m     tensor.Model
		class wire.Class
	}{
		{"a scale that the configuration promises", quanttest.Model(`{"quantization_config":{"quant_method":"fp8"}}`, w8), wire.Malformed},
		{"a scale that ModelOpt's object promises, which names no method", quanttest.Model(`{"quantization_config":{"quant_algo":"FP8"}}`, w8), wire.Malformed},
		{"a scale that ModelOpt's own file promises", quanttest.ModelOpt(`{"quantization":{"quant_algo":"FP8","exclude_modules":["lm_head"]}}`, w8), wire.Malformed},
		{"a scale of another shape", quanttest.Model("", w8, quanttest.Stored{Name: "m.weight_scale", DType: tensor.F32, Shape: []int64{5}, Data: make([]byte, 20)}), wire.Malformed},
		{"two scales", quanttest.Model("", w8, quanttest.Stored{Name: "m.weight_scale", DType: tensor.F32, Shape: nil, Data: quanttest.F32(1)}, quanttest.Stored{Name: "m.weight_scale_inv", DType: tensor.F32, Shape: nil, Data: quanttest.F32(1)}), wire.Unsupported},
		{"blocks of unknown size", quanttest.Model("", w8, quanttest.Stored{Name: "m.weight_scale", DType: tensor.F32, Shape: []int64{2, 4}, Data: make([]byte, 32)}), wire.Unsupported},
		{"a scale of another type", quanttest.Model("", w8, quanttest.Stored{Name: "m.weight_scale", DType: tensor.I64, Shape: nil, Data: make([]byte, 8)}), wire.Unsupported},
		{"qweight without scales", quanttest.Model("", qweight), wire.Malformed},
		{"qweight without qzeros", quanttest.Model("", qweight, quanttest.Stored{Name: "m.scales", DType: tensor.F16, Shape: []int64{1, 8}, Data: make([]byte, 16)}), wire.Malformed},
		{"zero points of no width that exists", quanttest.Model("", qweight, quanttest.Stored{Name: "m.scales", DType: tensor.F16, Shape: []int64{1, 8}, Data: make([]byte, 16)},
			quanttest.Stored{Name: "m.qzeros", DType: tensor.I32, Shape: []int64{1, 9}, Data: make([]byte, 36)}), wire.Unsupported},
		{"an order out of range", quanttest.Model("", qweight, quanttest.Stored{Name: "m.scales", DType: tensor.F16, Shape: []int64{1, 8}, Data: make([]byte, 16)},
			quanttest.Stored{Name: "m.qzeros", DType: tensor.I32, Shape: []int64{1, 1}, Data: make([]byte, 4)},
			quanttest.Stored{Name: "m.g_idx", DType: tensor.I32, Shape: []int64{8}, Data: []byte{1: 0, 4: 9, 31: 0}}), wire.Malformed},
		{"a description that lies about its shape", quanttest.Model("",
			quanttest.Stored{Name: "m", DType: tensor.U8, Shape: []int64{4, 1}, Data: make([]byte, 4)}, quanttest.Stored{Name: "m.absmax", DType: tensor.F32, Shape: []int64{1}, Data: quanttest.F32(1)},
			quanttest.Stored{Name: "m.quant_map", DType: tensor.F32, Shape: []int64{16}, Data: make([]byte, 64)},
			quanttest.Stored{Name: "m.quant_state.bitsandbytes__nf4", DType: tensor.U8, Shape: []int64{50}, Data: []byte(`{"quant_type":"nf4","blocksize":64,"shape":[1048576]}`)}), wire.Malformed},
		{"a description of petabytes", quanttest.Model("",
			quanttest.Stored{Name: "m", DType: tensor.U8, Shape: []int64{4, 1}, Data: make([]byte, 4)},
			quanttest.Stored{Name: "m.quant_state.bitsandbytes__nf4", DType: tensor.U8, Shape: []int64{70}, Data: []byte(`{"quant_type":"nf4","blocksize":64,"shape":[4611686018427387904,4]}`)}), wire.Malformed},
		{"packing that the configuration contradicts", quanttest.Model(`{"quantization_config":{"quant_method":"awq"}}`, qweight,
			quanttest.Stored{Name: "m.scales", DType: tensor.F16, Shape: []int64{1, 8}, Data: make([]byte, 16)}), wire.Malformed},
		{"codes that nothing explains", quanttest.Model("", quanttest.Stored{Name: "m.qweight", DType: tensor.I32, Shape: []int64{3, 3}, Data: make([]byte, 36)},
			quanttest.Stored{Name: "m.scales", DType: tensor.F16, Shape: []int64{5}, Data: make([]byte, 10)}), wire.Unsupported},
		{"bytes beside a scale of no known form", quanttest.Model("", quanttest.Stored{Name: "m.weight", DType: tensor.U8, Shape: []int64{3, 3}, Data: make([]byte, 9)},
			quanttest.Stored{Name: "m.weight_scale", DType: tensor.F32, Shape: []int64{7}, Data: make([]byte, 28)}), wire.Unsupported},
		{"blocks of gpt-oss without scales", quanttest.Model("", quanttest.Zeros("e.gate_up_proj_blocks", tensor.U8, 1, 2, 1, 16)), wire.Malformed},
		{"packed codes without scales", quanttest.Model("", quanttest.Zeros("m.weight_packed", tensor.U8, 2, 16)), wire.Malformed},
		{"bytes beside an absmax of another library", quanttest.Model("", quanttest.Zeros("m.weight", tensor.U8, 64, 1), quanttest.Zeros("m.weight_absmax", tensor.F32, 2)), wire.Unsupported},
		{"experts of bytes under scales of no known form", quanttest.Model("", quanttest.Zeros("e.gate_up_proj", tensor.I8, 2, 4, 8), quanttest.Zeros("e.gate_up_proj_scale", tensor.F32, 2, 4, 1)), wire.Unsupported},
		{"a scheme that is known and refused", quanttest.Model("", quanttest.Stored{Name: "m.codes", DType: tensor.I16, Shape: []int64{1}, Data: make([]byte, 2)},
			quanttest.Stored{Name: "m.codebooks", DType: tensor.F16, Shape: []int64{1}, Data: make([]byte, 2)}), wire.Unsupported},
		{"a configuration that is not JSON", quanttest.Model("{", w8), wire.Truncated},
	} {
		t.Run(tc.what, func(t *testing.T) {
			bound, _, err := quanttest.Plan(t, tc.m, quant.Options{})
			if wire.ClassOf(err) != tc.class {
				t.Errorf("class %v, want %v: %v %+v", wire.ClassOf(err), tc.class, err, bound)
			}
			if _, placed := errors.AsType[*wire.Error](err); err != nil && !placed {
				t.Errorf("no place: %v", err)
			}
		})
	}
}

func TestBytesThatAreNotTheElementsInOrderAreRefused(t *testing.T) {
	for what, change := range map[string]func(*tensor.Info){
		"a transposed view":   func(i *tensor.Info) { i.Strides = []int64{1, 4} },
		"big-endian scales":   func(i *tensor.Info) { i.Order = tensor.Big },
		"a scale of nothing":  func(i *tensor.Info) { i.Shape, i.Span.Len = []int64{0}, 0 },
		"a shape past int64s": func(i *tensor.Info) { i.Shape = []int64{1 << 40, 1 << 40} },
	} {
		t.Run(what, func(t *testing.T) {
			m := quanttest.Model("",
				quanttest.Stored{Name: "m.weight", DType: tensor.F8E4M3, Shape: []int64{4, 6}, Data: make([]byte, 24)},
				quanttest.Stored{Name: "m.weight_scale", DType: tensor.F32, Shape: []int64{1}, Data: quanttest.F32(1)})
			change(&m.Infos[1])
			bound, _, err := quanttest.Plan(t, m, quant.Options{})
			if c := wire.ClassOf(err); c != wire.Unsupported && c != wire.Malformed {
				t.Errorf("%v, %+v", err, bound)
			}
		})
	}
	t.Run("a weight of nothing", func(t *testing.T) {
		bound, _, err := quanttest.Plan(t, quanttest.Model("", quanttest.Stored{Name: "m.weight", DType: tensor.F8E4M3, Shape: []int64{0, 6}, Data: nil}), quant.Options{})
		if err != nil || len(bound.Plain) != 1 {
			t.Errorf("%+v, %v", bound, err)
		}
	})
}
