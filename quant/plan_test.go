package quant_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// stored is one tensor of a test's model.
type stored struct {
	name  string
	dtype tensor.DType
	shape []int64
	data  []byte
}

// modelOptModel is one beside the file that ModelOpt writes.
func modelOptModel(config string, tensors ...stored) *tensor.File {
	f := model("", tensors...)
	f.Folder = fstest.MapFS{"hf_quant_config.json": {Data: []byte(config)}}
	return f
}

// model lays tensors out one after the other.
func model(config string, tensors ...stored) *tensor.File {
	var body []byte
	f := &tensor.File{Name: "safetensors"}
	for _, s := range tensors {
		f.Infos = append(f.Infos, tensor.Info{Name: s.name, DType: s.dtype, Shape: s.shape,
			Span: tensor.Span{Off: int64(len(body)), Len: int64(len(s.data))}})
		body = append(body, s.data...)
	}
	f.Source = bytes.NewReader(body)
	if config != "" {
		f.Folder = fstest.MapFS{"config.json": {Data: []byte(config)}}
	}
	return f
}

func plan(t *testing.T, m tensor.Model, o quant.Options) (*quant.Bound, *limits.Budget, error) {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	t.Cleanup(b.Close)
	b.Source(1 << 30)
	bound, err := quant.Plan(b, m, o)
	return bound, b, err
}

// decoded binds a model of one weight and decodes it.
func decoded(t *testing.T, m tensor.Model, o quant.Options) (*quant.Weight, []byte) {
	t.Helper()
	bound, b, err := plan(t, m, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(bound.Weights) != 1 || len(bound.Plain) != 0 {
		t.Fatalf("%d weights, %d plain", len(bound.Weights), len(bound.Plain))
	}
	w := bound.Weights[0]
	dst := make([]byte, w.Size(o.Target))
	if err := quant.Decode(b, m, w, dst, o.Target); err != nil {
		t.Fatal(err)
	}
	return w, dst
}

func f32(values ...float32) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// words reads the header of a reference slice.
func words(file []byte, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint32(file[4*i:]))
	}
	return out
}

func TestRealSlicesAreBoundByTheirSignature(t *testing.T) {
	t.Run("FP8 in blocks", func(t *testing.T) {
		file := fixtures.Read(t, "fp8/exaone_fine_grained.bin")
		h := words(file, 7)
		rest := file[28:]
		m := model("",
			stored{"m.weight", tensor.F8E4M3, []int64{h[2], h[3]}, rest[:h[4]]},
			stored{"m.weight_scale_inv", []tensor.DType{tensor.F32, tensor.BF16, tensor.F16}[h[1]],
				[]int64{(h[2] + 127) / 128, (h[3] + 127) / 128}, rest[h[4] : h[4]+h[5]]})
		w, got := decoded(t, m, quant.Options{})
		if !bytes.Equal(got, rest[h[4]+h[5]:]) {
			t.Error("differs")
		}
		if w.Scheme != "FP8" || w.Name != "m.weight" {
			t.Errorf("%s %s", w.Scheme, w.Name)
		}
	})
	t.Run("nested NF4", func(t *testing.T) {
		file := fixtures.Read(t, "bnb/llama_1b_nf4_double_quant.bin")
		h := words(file, 10)
		rest := file[40:]
		var parts [][]byte
		for _, n := range h[3:9] {
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		offset := float64(math.Float32frombits(uint32(h[9])))
		state := fmt.Sprintf(`{"quant_type":"nf4","blocksize":%d,"dtype":"bfloat16","shape":[%d,64],"nested_blocksize":256,"nested_dtype":"float32","nested_offset":%v}`,
			h[2], h[1]/64, offset)
		m := model("",
			stored{"m.weight", tensor.U8, []int64{h[1] / 2, 1}, parts[0]},
			stored{"m.weight.absmax", tensor.U8, []int64{h[4]}, parts[1]},
			stored{"m.weight.quant_map", tensor.F32, []int64{16}, parts[2]},
			stored{"m.weight.nested_absmax", tensor.F32, []int64{h[6] / 4}, parts[3]},
			stored{"m.weight.nested_quant_map", tensor.F32, []int64{256}, parts[4]},
			stored{"m.weight.quant_state.bitsandbytes__nf4", tensor.U8, []int64{int64(len(state))}, []byte(state)})
		_, got := decoded(t, m, quant.Options{})
		if !bytes.Equal(got, parts[5]) {
			t.Error("differs")
		}
	})
	for _, name := range []string{"falcon3_1b_int4", "llama_3_2_1b_gptqmodel_int8"} {
		t.Run("GPTQ "+name, func(t *testing.T) {
			file := fixtures.Read(t, "gptq/"+name+".bin")
			h := words(file, 11)
			rest := file[44:]
			var parts [][]byte
			for _, n := range h[6:11] {
				parts, rest = append(parts, rest[:n]), rest[n:]
			}
			bits, group, in, out := h[0], h[1], h[2], h[3]
			tensors := []stored{
				{"m.qweight", tensor.I32, []int64{in * bits / 32, out}, parts[0]},
				{"m.scales", []tensor.DType{tensor.F32, tensor.BF16, tensor.F16}[h[4]], []int64{in / group, out}, parts[1]},
				{"m.qzeros", tensor.I32, []int64{in / group, out * bits / 32}, parts[2]},
			}
			if h[5] != 0 {
				tensors = append(tensors, stored{"m.g_idx", tensor.I32, []int64{in}, parts[3]})
			}
			w, got := decoded(t, model("", tensors...), quant.Options{})
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

func TestLookAlikesPassThrough(t *testing.T) {
	bound, _, err := plan(t, model("",
		stored{"logit_scale", tensor.F32, nil, f32(1)},
		stored{"a.layer_scale", tensor.F32, []int64{2}, f32(1, 2)},
		stored{"b.k_scale", tensor.F32, nil, f32(1)},
		stored{"c.g_idx", tensor.I32, []int64{1}, f32(0)},
		stored{"d.weight", tensor.F32, []int64{1}, f32(0)},
		stored{"d.weight_scale", tensor.F32, []int64{1}, f32(0)},
	), quant.Options{})
	if err != nil || len(bound.Weights) != 0 || len(bound.Plain) != 6 {
		t.Errorf("%+v, %v", bound, err)
	}
}

func TestScalesOfARuntimeAreLeftOut(t *testing.T) {
	m := func(config string) tensor.Model {
		return model(config,
			stored{"a.weight", tensor.F8E4M3, []int64{1, 2}, []byte{1, 2}},
			stored{"a.weight_scale", tensor.F32, nil, f32(1)},
			stored{"a.input_scale", tensor.F32, nil, f32(1)},
			stored{"b.input_scale", tensor.F32, nil, f32(1)},
			stored{"a.k_scale", tensor.F32, nil, f32(1)},
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
			bound, _, err := plan(t, m(tc.config), tc.o)
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

func TestWhatCannotBeBoundIsRefused(t *testing.T) {
	w8 := stored{"m.weight", tensor.F8E4M3, []int64{4, 6}, make([]byte, 24)}
	qweight := stored{"m.qweight", tensor.I32, []int64{1, 8}, make([]byte, 32)}
	for _, tc := range []struct {
		what  string
		m     tensor.Model
		class wire.Class
	}{
		{"a scale that the configuration promises", model(`{"quantization_config":{"quant_method":"fp8"}}`, w8), wire.Malformed},
		{"a scale that ModelOpt's object promises, which names no method", model(`{"quantization_config":{"quant_algo":"FP8"}}`, w8), wire.Malformed},
		{"a scale that ModelOpt's own file promises", modelOptModel(`{"quantization":{"quant_algo":"FP8","exclude_modules":["lm_head"]}}`, w8), wire.Malformed},
		{"a scale of another shape", model("", w8, stored{"m.weight_scale", tensor.F32, []int64{5}, make([]byte, 20)}), wire.Malformed},
		{"two scales", model("", w8, stored{"m.weight_scale", tensor.F32, nil, f32(1)}, stored{"m.weight_scale_inv", tensor.F32, nil, f32(1)}), wire.Unsupported},
		{"blocks of unknown size", model("", w8, stored{"m.weight_scale", tensor.F32, []int64{2, 4}, make([]byte, 32)}), wire.Unsupported},
		{"a scale of another type", model("", w8, stored{"m.weight_scale", tensor.I64, nil, make([]byte, 8)}), wire.Unsupported},
		{"qweight without scales", model("", qweight), wire.Malformed},
		{"qweight without qzeros", model("", qweight, stored{"m.scales", tensor.F16, []int64{1, 8}, make([]byte, 16)}), wire.Malformed},
		{"zero points of no width that exists", model("", qweight, stored{"m.scales", tensor.F16, []int64{1, 8}, make([]byte, 16)},
			stored{"m.qzeros", tensor.I32, []int64{1, 9}, make([]byte, 36)}), wire.Unsupported},
		{"an order out of range", model("", qweight, stored{"m.scales", tensor.F16, []int64{1, 8}, make([]byte, 16)},
			stored{"m.qzeros", tensor.I32, []int64{1, 1}, make([]byte, 4)},
			stored{"m.g_idx", tensor.I32, []int64{8}, []byte{1: 0, 4: 9, 31: 0}}), wire.Malformed},
		{"a description that lies about its shape", model("",
			stored{"m", tensor.U8, []int64{4, 1}, make([]byte, 4)}, stored{"m.absmax", tensor.F32, []int64{1}, f32(1)},
			stored{"m.quant_map", tensor.F32, []int64{16}, make([]byte, 64)},
			stored{"m.quant_state.bitsandbytes__nf4", tensor.U8, []int64{50}, []byte(`{"quant_type":"nf4","blocksize":64,"shape":[1048576]}`)}), wire.Malformed},
		{"a description of petabytes", model("",
			stored{"m", tensor.U8, []int64{4, 1}, make([]byte, 4)},
			stored{"m.quant_state.bitsandbytes__nf4", tensor.U8, []int64{70}, []byte(`{"quant_type":"nf4","blocksize":64,"shape":[4611686018427387904,4]}`)}), wire.Malformed},
		{"packing that the configuration contradicts", model(`{"quantization_config":{"quant_method":"awq"}}`, qweight,
			stored{"m.scales", tensor.F16, []int64{1, 8}, make([]byte, 16)}), wire.Malformed},
		{"codes that nothing explains", model("", stored{"m.qweight", tensor.I32, []int64{3, 3}, make([]byte, 36)},
			stored{"m.scales", tensor.F16, []int64{5}, make([]byte, 10)}), wire.Unsupported},
		{"bytes beside a scale of no known form", model("", stored{"m.weight", tensor.U8, []int64{3, 3}, make([]byte, 9)},
			stored{"m.weight_scale", tensor.F32, []int64{7}, make([]byte, 28)}), wire.Unsupported},
		{"blocks of gpt-oss without scales", model("", ints("e.gate_up_proj_blocks", tensor.U8, 1, 2, 1, 16)), wire.Malformed},
		{"packed codes without scales", model("", ints("m.weight_packed", tensor.U8, 2, 16)), wire.Malformed},
		{"bytes beside an absmax of another library", model("", ints("m.weight", tensor.U8, 64, 1), ints("m.weight_absmax", tensor.F32, 2)), wire.Unsupported},
		{"experts of bytes under scales of no known form", model("", ints("e.gate_up_proj", tensor.I8, 2, 4, 8), ints("e.gate_up_proj_scale", tensor.F32, 2, 4, 1)), wire.Unsupported},
		{"a scheme that is known and refused", model("", stored{"m.codes", tensor.I16, []int64{1}, make([]byte, 2)},
			stored{"m.codebooks", tensor.F16, []int64{1}, make([]byte, 2)}), wire.Unsupported},
		{"a configuration that is not JSON", model("{", w8), wire.Truncated},
	} {
		t.Run(tc.what, func(t *testing.T) {
			bound, _, err := plan(t, tc.m, quant.Options{})
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
			m := model("",
				stored{"m.weight", tensor.F8E4M3, []int64{4, 6}, make([]byte, 24)},
				stored{"m.weight_scale", tensor.F32, []int64{1}, f32(1)})
			change(&m.Infos[1])
			bound, _, err := plan(t, m, quant.Options{})
			if c := wire.ClassOf(err); c != wire.Unsupported && c != wire.Malformed {
				t.Errorf("%v, %+v", err, bound)
			}
		})
	}
	t.Run("a weight of nothing", func(t *testing.T) {
		bound, _, err := plan(t, model("", stored{"m.weight", tensor.F8E4M3, []int64{0, 6}, nil}), quant.Options{})
		if err != nil || len(bound.Plain) != 1 {
			t.Errorf("%+v, %v", bound, err)
		}
	})
}
