package bnb_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// The same numbers give the same tensors as bitsandbytes gives, for any number of
// workers and any tile.
func TestQuantizedWeightsAreThoseOfBitsandbytes(t *testing.T) {
	files, err := filepath.Glob("testdata/encode/*.safetensors")
	if err != nil || len(files) < 30 {
		t.Fatal(files, err)
	}
	seen := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".safetensors")
		if name == "mean" || name == "distortion" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want, dims := contents(t, file)
			shape := dims["input"]
			if len(shape) != 2 {
				return // no linear module has it
			}
			seen++
			var numbers []float32
			for p := want["input"]; len(p) > 0; p = p[4:] {
				numbers = append(numbers, math.Float32frombits(binary.LittleEndian.Uint32(p)))
			}
			delete(want, "input")
			o := bnb.Layout{Type: bnb.NF4, Measure: true}
			var state struct{ Blocksize int }
			switch text, ok := want["w.quant_state.bitsandbytes__fp4"]; {
			case ok:
				o.Type = bnb.FP4
				_ = json.Unmarshal(text, &state)
			case want["SCB"] != nil:
				o.Type = bnb.INT8
			default:
				_ = json.Unmarshal(want["w.quant_state.bitsandbytes__nf4"], &state)
			}
			o.Block = state.Blocksize
			_, o.Nested = want["w.nested_absmax"]
			m := converttest.Source(t, map[string][]float32{"m.weight": numbers}, map[string][]int64{"m.weight": shape})
			var first []byte
			for _, threads := range []int{1, 4} {
				for _, tile := range []int{1, 5000, 1 << 20} {
					file, p, err := converttest.Quantized(t, m, o, threads, tile)
					if err != nil {
						t.Fatal(err)
					}
					if first == nil {
						first = file
						sameTensors(t, want, file, p.Quantized)
					} else if !bytes.Equal(first, file) {
						t.Errorf("%d workers, tiles of %d: other bytes", threads, tile)
					}
				}
			}
		})
	}
	if seen < 25 {
		t.Errorf("only %d goldens", seen)
	}
}

// contents is the tensors of a file.
func contents(t *testing.T, path string) (map[string][]byte, map[string][]int64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return tensorsOf(t, data)
}

func tensorsOf(t *testing.T, data []byte) (map[string][]byte, map[string][]int64) {
	t.Helper()
	m, err := parser.Decode(limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context()), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	bodies, shapes := map[string][]byte{}, map[string][]int64{}
	for i := range m.Tensors() {
		bodies[i.Name], shapes[i.Name] = data[i.Span.Off:i.Span.End()], i.Shape
	}
	return bodies, shapes
}

func sameTensors(t *testing.T, want map[string][]byte, file []byte, e *convert.Quantized) {
	t.Helper()
	got, _ := tensorsOf(t, file)
	for name, p := range want {
		ours := "m.weight" + strings.TrimPrefix(name, "w")
		if name == "SCB" {
			ours = "m.SCB"
		}
		if !bytes.Equal(p, got[ours]) {
			t.Errorf("%s differs", ours)
		}
		delete(got, ours)
	}
	delete(got, "m.weight_format")
	if len(got) > 0 {
		t.Errorf("more tensors: %d", len(got))
	}
	if d := e.Lost(); d.N != e.Weights[0].Elements {
		t.Errorf("%d of %d numbers were measured", d.N, e.Weights[0].Elements)
	}
}

// The measured loss is the one that a reader of the file computes, for any number of workers.
func TestReportedLossIsWhatAReaderFinds(t *testing.T) {
	for _, o := range []bnb.Layout{
		{Type: bnb.NF4}, {Type: bnb.NF4, Nested: true}, {Type: bnb.FP4, Block: 256}, {Type: bnb.FP4, Block: 32, Nested: true}, {Type: bnb.INT8},
	} {
		for _, shape := range [][]int64{{96, 320}, {33, 50}, {1, 7}, {700, 64}} {
			t.Run(fmt.Sprintf("%v %v %v", o.Type, o.Nested, shape), func(t *testing.T) {
				numbers := converttest.Wave(int(shape[0] * shape[1]))
				m := converttest.Source(t, map[string][]float32{"m.weight": numbers}, map[string][]int64{"m.weight": shape})
				o.Measure = true
				file, p, err := converttest.Quantized(t, m, o, 1, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				_, other, err := converttest.Quantized(t, m, o, 4, 3000)
				if err != nil {
					t.Fatal(err)
				}
				if p.Quantized.Lost() != other.Quantized.Lost() {
					t.Errorf("%+v, with other workers %+v", p.Quantized.Lost(), other.Quantized.Lost())
				}
				back := decodeAll(t, file)
				var want quant.Distortion
				want.Add(numbers, back)
				got := p.Quantized.Lost()
				near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Abs(b) }
				if got.N != want.N || got.Max != want.Max || !near(got.MAE(), want.MAE()) || !near(got.RelativeRMSE(), want.RelativeRMSE()) || !near(got.Cosine(), want.Cosine()) {
					t.Errorf("%+v, want %+v", got, want)
				}
			})
		}
	}
}

// decodeAll decodes the one weight of a file.
func decodeAll(t *testing.T, file []byte) []float32 {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	m, err := parser.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	bound, err := quant.Plan(b, m, quant.Options{Target: quant.F32})
	if err != nil || len(bound.Weights) != 1 {
		t.Fatal(bound, err)
	}
	w := bound.Weights[0]
	p := make([]byte, w.Size(quant.F32))
	if err := quant.Decode(b, m, w, p, quant.F32); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(p)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
	}
	return out
}

// Rows that never end with a block of scales: those are held, and quantized last.
func TestScalesOfOddRowsAreQuantizedLast(t *testing.T) {
	const rows, cols = 300, 1031 // a prime
	numbers := converttest.Wave(rows * cols)
	odd := converttest.Source(t, map[string][]float32{"m.weight": numbers}, map[string][]int64{"m.weight": {rows, cols}})
	flat := converttest.Source(t, map[string][]float32{"m.weight": numbers}, map[string][]int64{"m.weight": {1, rows * cols}})
	o := bnb.Layout{Type: bnb.NF4, Nested: true, Block: 4096}
	want, _, err := converttest.Quantized(t, flat, o, 1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := tensorsOf(t, want)
	for _, threads := range []int{1, 4} {
		got, _, err := converttest.Quantized(t, odd, o, threads, 4000)
		if err != nil {
			t.Fatal(err)
		}
		two, _ := tensorsOf(t, got)
		for _, name := range []string{"", ".absmax", ".nested_absmax", ".nested_quant_map", ".quant_map"} {
			if !bytes.Equal(one["m.weight"+name], two["m.weight"+name]) {
				t.Errorf("%d workers: %q differs", threads, name)
			}
		}
	}
}

func TestModelsThatBitsandbytesCannotHoldAreRefused(t *testing.T) {
	bad := converttest.Wave(128)
	bad[77] = float32(math.NaN())
	good := map[string][]int64{"m.weight": {2, 64}}
	m := converttest.Source(t, map[string][]float32{"m.weight": converttest.Wave(128)}, good)
	for _, c := range []struct {
		name string
		m    tensor.Model
		o    bnb.Layout
		want wire.Class
		text string
	}{
		{"NaN", converttest.Source(t, map[string][]float32{"m.weight": bad}, good), bnb.Layout{}, wire.Unsupported, "element 77 is NaN"},
		{"NaN with nested scales", converttest.Source(t, map[string][]float32{"m.weight": bad}, good), bnb.Layout{Nested: true}, wire.Unsupported, "element 77 is NaN"},
		{"NaN in rows", converttest.Source(t, map[string][]float32{"m.weight": bad}, good), bnb.Layout{Type: bnb.INT8}, wire.Unsupported, "element 77 is NaN"},
		{"a block that is not a power of two", m, bnb.Layout{Block: 48}, wire.Usage, "blocks of 48"},
		{"a block that is too small", m, bnb.Layout{Block: 16}, wire.Usage, "blocks of 16"},
		{"a block that is too large", m, bnb.Layout{Block: 8192}, wire.Usage, "blocks of 8192"},
		{"nested scales of rows", m, bnb.Layout{Type: bnb.INT8, Nested: true}, wire.Usage, "row scales"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, threads := range []int{1, 3} {
				_, _, err := converttest.Quantized(t, c.m, c.o, threads, 64)
				if wire.ClassOf(err) != c.want || !strings.Contains(fmt.Sprint(err), c.text) {
					t.Errorf("%v (%v), want %v: %s", err, wire.ClassOf(err), c.want, c.text)
				}
			}
		})
	}
}

// A head has another name in memory than in the file of gpt_neox.
func TestASkippedHeadIsListedUnderBothOfItsNames(t *testing.T) {
	names := map[string][]int64{"embed_out.weight": {4, 4}, "gpt_neox.layers.0.attention.dense.weight": {4, 4}}
	m := converttest.Source(t, map[string][]float32{"embed_out.weight": converttest.Wave(16), "gpt_neox.layers.0.attention.dense.weight": converttest.Wave(16)}, names)
	if diff := cmp.Diff([]string{"embed_out", "lm_head"}, skipped(t, m)); diff != "" {
		t.Error(diff)
	}
}

// skipped returns the modules that a quantized folder's config.json lists as not quantized.
func skipped(t *testing.T, m tensor.Model) []string {
	t.Helper()
	_, p, err := converttest.Quantized(t, m, bnb.Layout{}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.QuantizationConfig()
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Skip []string `json:"llm_int8_skip_modules"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	return config.Skip
}

// A tied head is in no file, and some types give it an unusual name.
func TestATiedHeadIsListedAsSkipped(t *testing.T) {
	const layer = "model.layers.0.attn.Wo.weight"
	m := converttest.Source(t, map[string][]float32{layer: converttest.Wave(16)}, map[string][]int64{layer: {4, 4}})
	if skip := skipped(t, converttest.WithConfig(m, `{"model_type": "modernbert"}`)); !slices.Contains(skip, "decoder") {
		t.Errorf("no decoder in %q", skip)
	}
}

// In some classes, transformers 5 splits torch's in_proj_weight into three linear modules: their
// numbers are not quantized, and a pattern that also matches other modules is not used for them.
func TestPartsOfAnInputProjectionAreNotQuantized(t *testing.T) {
	const in, other = "vision_model.transformer.resblocks.0.attn.in_proj_weight", "model.layers.0.self_attn.q_proj.weight"
	m := converttest.WithConfig(converttest.Source(t, map[string][]float32{in: converttest.Wave(48), other: converttest.Wave(16)}, map[string][]int64{in: {12, 4}, other: {4, 4}}), `{"model_type": "step3p7"}`)
	skip := skipped(t, m)
	for _, part := range []string{"0.attn.q_proj", "attn.k_proj", "attn.v_proj"} {
		if !slices.Contains(skip, part) {
			t.Errorf("no %s in %q", part, skip)
		}
	}
	if slices.Contains(skip, "attn.q_proj") || slices.Contains(skip, "q_proj") {
		t.Errorf("%q means %s too", skip, other)
	}
}

// Patterns for transformers match the modules that are not quantized, and no others.
func TestPatternsOfSkippedModulesMatchNoQuantizedOne(t *testing.T) {
	shapes := map[string][]int64{
		"model.embed_tokens.weight": {4, 4}, "lm_head.weight": {4, 4}, "model.layers.0.mlp.gate.weight": {2, 4},
		"model.layers.0.mlp.shared_expert_gate.weight": {1, 4}, "model.layers.0.mlp.experts.0.up_proj.weight": {4, 4},
		"model.layers.0.q_proj.weight": {4, 4}, "model.layers.1.q_proj.weight": {4, 4}, "model.layers.10.q_proj.weight": {4, 4},
		"model.layers.0.norm.weight": {4},
	}
	matrices := map[string][]float32{}
	for name, s := range shapes {
		n := int64(1)
		for _, d := range s {
			n *= d
		}
		matrices[name] = converttest.Wave(int(n))
	}
	m := converttest.Source(t, matrices, shapes)
	o := bnb.Layout{Exclude: func(name string) bool { return name == "model.layers.0.q_proj.weight" }}
	_, p, err := converttest.Quantized(t, m, o, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.QuantizationConfig()
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"_load_in_4bit": true, "_load_in_8bit": false, "bnb_4bit_compute_dtype": "float32", "bnb_4bit_quant_storage": "uint8",
		"bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": false, "llm_int8_enable_fp32_cpu_offload": false,
		"llm_int8_has_fp16_weight": false, "llm_int8_threshold": 6.0, "load_in_4bit": true, "load_in_8bit": false, "quant_method": "bitsandbytes",
		"llm_int8_skip_modules": []any{"embed_tokens", "layers.0.q_proj", "lm_head", "mlp.gate", "model.layers.0.mlp.experts", "model.layers.0.mlp.gate", "model.layers.0.q_proj"},
	}
	if diff := cmp.Diff(want, config); diff != "" {
		t.Error(diff)
	}
	clash := converttest.Source(t, map[string][]float32{"score.weight": converttest.Wave(16), "x.score.weight": converttest.Wave(16), "x.score.bias": converttest.Wave(4)},
		map[string][]int64{"score.weight": {4, 4}, "x.score.weight": {4, 4}, "x.score.bias": {4}})
	_, p, err = converttest.Quantized(t, clash, bnb.Layout{}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.QuantizationConfig(); wire.ClassOf(err) != wire.Unsupported {
		t.Error(err)
	}
}

// bitsandbytes in transformers fuses nothing: there a name chooses one matrix.
func TestBitsandbytesChoosesMatricesOneByOne(t *testing.T) {
	b := converttest.Account(t)
	attention := map[string][2]int64{"model.layers.0.self_attn.q_proj": {128, 128}, "model.layers.0.self_attn.k_proj": {128, 128}}
	p, err := convert.NewPlan(b, converttest.TypedModel(t, b, "llama", converttest.Shaped(attention)), convert.Options{Quantize: bnb.Layout{Exclude: func(name string) bool { return strings.Contains(name, "k_proj") }}})
	if err != nil || len(p.Quantized.Weights) != 1 {
		t.Errorf("%v", err)
	}
}
