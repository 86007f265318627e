package quant_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

const llama4 = `{"model_type":"llama4","text_config":{"model_type":"llama4_text"}}`

// llama4Experts are three experts of 3 inputs and 2 inner numbers, each INT8
// under a scale per row; the codes count up.
func llama4Experts(drop string) tensor.Model {
	var tensors []stored
	code := byte(0)
	for e := range 3 {
		for _, layer := range []struct {
			name      string
			rows, col int64
		}{{"gate_proj", 2, 3}, {"up_proj", 2, 3}, {"down_proj", 3, 2}} {
			name := fmt.Sprintf("model.layers.0.feed_forward.experts.%d.%s", e, layer.name)
			w, s := ints(name+".weight", tensor.I8, layer.rows, layer.col), ints(name+".weight_scale", tensor.F32, layer.rows, 1)
			for i := range w.data {
				w.data[i] = code
				code++
			}
			for r := range layer.rows {
				binary.LittleEndian.PutUint32(s.data[4*r:], math.Float32bits(float32(r+1)))
			}
			if name+".weight" != drop {
				tensors = append(tensors, w, s)
			}
		}
	}
	return model(llama4, tensors...)
}

func TestExpertsOfLlama4AreFusedInFolders(t *testing.T) {
	m := llama4Experts("")
	bound, b, err := plan(t, m, quant.Options{Target: quant.F32, Folder: true})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]float32{}
	for n, err := range bound.All(b, m, quant.F32) {
		if err != nil {
			t.Fatal(err)
		}
		got[fmt.Sprint(n.Name, n.Shape)] = append([]float32(nil), floats(n.Data)...)
	}
	var gateUp, down []float32
	for e := range 3 {
		base := float32(18 * e) // codes of gate, up and down: 6 each
		for in := range 3 {
			for _, first := range []float32{base, base + 6} { // gate, then up
				for out := range 2 {
					gateUp = append(gateUp, (first+float32(3*out+in))*float32(out+1))
				}
			}
		}
		for in := range 2 {
			for out := range 3 {
				down = append(down, (base+12+float32(2*out+in))*float32(out+1))
			}
		}
	}
	want := map[string][]float32{
		"model.layers.0.feed_forward.experts.gate_up_proj[3 3 4]": gateUp,
		"model.layers.0.feed_forward.experts.down_proj[3 2 3]":    down,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	inRows(t, m, bound.Weights, want)
}

// inRows decodes one row at a time, from no more than it needs.
func inRows(t *testing.T, m tensor.Model, weights []*quant.Weight, want map[string][]float32) {
	t.Helper()
	for _, w := range weights {
		for lo := range w.Rows() {
			var parts [][]byte
			for p, info := range w.Parts {
				span := w.Matrix().Need(p, lo, lo+1)
				part := make([]byte, span.Len)
				r, _ := m.At(info)
				if _, err := r.ReadAt(part, span.Off); err != nil && span.Len > 0 {
					t.Fatal(err)
				}
				parts = append(parts, part)
			}
			got := make([]byte, 4*w.Cols())
			w.Matrix().Decode(got, asm.F32, parts, lo, lo+1, make([]float32, w.Cols()))
			sameBits(t, want[fmt.Sprint(w.Name, w.Shape)][lo*w.Cols():(lo+1)*w.Cols()], floats(got))
		}
	}
}

func TestExpertsThatCannotBeFusedAreNamed(t *testing.T) {
	for what, m := range map[string]tensor.Model{
		"a layer that is not there": llama4Experts("model.layers.0.feed_forward.experts.1.up_proj.weight"),
		"an expert that is not there": model(llama4, ints("model.layers.0.feed_forward.experts.1.up_proj.weight", tensor.I8, 2, 3),
			ints("model.layers.0.feed_forward.experts.1.up_proj.weight_scale", tensor.F32, 2, 1)),
		"an expert that is not quantized": model(llama4, ints("model.layers.0.feed_forward.experts.0.up_proj.weight", tensor.BF16, 2, 3)),
	} {
		t.Run(what, func(t *testing.T) {
			bound, _, err := plan(t, m, quant.Options{Folder: true})
			if c := wire.ClassOf(err); c != wire.Malformed && c != wire.Unsupported || !strings.Contains(err.Error(), "experts") {
				t.Errorf("%v, %+v", err, bound)
			}
			if _, _, err := plan(t, m, quant.Options{}); err != nil {
				t.Errorf("a file keeps its own: %v", err)
			}
		})
	}
}

// Two stacked experts of two rows, whose codes count up.
func mlxStack(name string) tensor.Model {
	w, s, b := ints(name+".weight", tensor.U32, 2, 2, 8), ints(name+".scales", tensor.F32, 2, 2, 1), ints(name+".biases", tensor.F32, 2, 2, 1)
	for i := range w.data {
		w.data[i] = byte(i)
	}
	for r := range 4 {
		binary.LittleEndian.PutUint32(s.data[4*r:], math.Float32bits(float32(r+1)))
	}
	return model(`{"quantization":{"bits":8,"group_size":32}}`, w, s, b)
}

func TestStacksOfMLXAreSplitInFolders(t *testing.T) {
	for stack, want := range map[string][]string{
		"model.layers.0.mlp.switch_mlp.gate_proj":              {"model.layers.0.mlp.experts.0.gate_proj.weight", "model.layers.0.mlp.experts.1.gate_proj.weight"},
		"model.layers.0.block_sparse_moe.switch_mlp.down_proj": {"model.layers.0.block_sparse_moe.experts.0.w2.weight", "model.layers.0.block_sparse_moe.experts.1.w2.weight"},
		"model.layers.0.block_sparse_moe.switch_mlp.up_proj":   {"model.layers.0.block_sparse_moe.experts.0.w3.weight", "model.layers.0.block_sparse_moe.experts.1.w3.weight"},
	} {
		m := mlxStack(stack)
		bound, b, err := plan(t, m, quant.Options{Target: quant.F32, Folder: true})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		var numbers []float32
		for n, err := range bound.All(b, m, quant.F32) {
			if err != nil {
				t.Fatal(err)
			}
			names, numbers = append(names, n.Name), append(numbers, floats(n.Data)...)
			if diff := cmp.Diff([]int64{2, 32}, n.Shape); diff != "" || n.Stored() != 64+8+8 {
				t.Error(diff, n.Stored())
			}
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Error(diff)
		}
		for i, got := range numbers {
			if want := float32(i) * float32(i/32+1); got != want {
				t.Fatalf("number %d is %v, want %v", i, got, want)
			}
		}
	}
	_, _, err := plan(t, mlxStack("model.layers.0.mlp.experts.gate_proj"), quant.Options{Folder: true})
	if wire.ClassOf(err) != wire.Unsupported {
		t.Error(err)
	}
}

func TestWeightsThatStandForConv1DAreTurnedInFolders(t *testing.T) {
	for _, c := range []struct {
		config, module string
		turned         bool
	}{
		{`{"model_type":"gpt2"}`, "h.0.attn.c_attn", true},
		{`{"model_type":"gpt2"}`, "h.0.mlp.c_fc", true},
		{`{"model_type":"gpt2"}`, "lm_head", false},
		{`{"model_type":"clvp_decoder"}`, "model.decoder.layers.0.mlp.c_fc", true},
		{`{"model_type":"clvp","text_config":{"model_type":"clvp_encoder"},"decoder_config":{"model_type":"clvp_decoder"}}`, "speech_decoder_model.model.decoder.layers.0.mlp.c_fc", true},
		{`{"model_type":"vision-encoder-decoder","encoder":{"model_type":"vit"},"decoder":{"model_type":"gpt2"}}`, "decoder.transformer.h.0.mlp.c_fc", true},
		{`{"model_type":"llama","text_config":{"model_type":"llama"}}`, "model.layers.0.c_fc", false},
	} {
		bound, _, err := plan(t, model(c.config, ints(c.module+".weight", tensor.I8, 4, 6), ints(c.module+".SCB", tensor.F32, 4)), quant.Options{Folder: true})
		if err != nil {
			t.Fatal(err)
		}
		want := []int64{4, 6}
		if c.turned {
			want = []int64{6, 4}
		}
		if diff := cmp.Diff(want, bound.Weights[0].Shape); diff != "" {
			t.Errorf("%s of %s: %s", c.module, c.config, diff)
		}
	}
}
