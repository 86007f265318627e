package quant_test

import (
	"encoding/binary"
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

const llama4 = `{"model_type":"llama4","text_config":{"model_type":"llama4_text"}}`

// llama4Experts are three experts of 3 inputs and 2 inner numbers, each INT8
// under a scale per row; the codes count up.
func llama4Experts(drop string) tensor.Model {
	var tensors []quanttest.Stored
	code := byte(0)
	for e := range 3 {
		for _, layer := range []struct {
			name      string
			rows, col int64
		}{{"gate_proj", 2, 3}, {"up_proj", 2, 3}, {"down_proj", 3, 2}} {
			name := fmt.Sprintf("model.layers.0.feed_forward.experts.%d.%s", e, layer.name)
			w, s := quanttest.Zeros(name+".weight", tensor.I8, layer.rows, layer.col), quanttest.Zeros(name+".weight_scale", tensor.F32, layer.rows, 1)
			for i := range w.Data {
				w.Data[i] = code
				code++
			}
			for r := range layer.rows {
				binary.LittleEndian.PutUint32(s.Data[4*r:], math.Float32bits(float32(r+1)))
			}
			if name+".weight" != drop {
				tensors = append(tensors, w, s)
			}
		}
	}
	return quanttest.Model(llama4, tensors...)
}

func TestExpertsOfLlama4AreFusedInFolders(t *testing.T) {
	m := llama4Experts("")
	bound, b, err := quanttest.Plan(t, m, quant.Options{Target: quant.F32, Folder: true})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]float32{}
	for n, err := range bound.All(b, m, quant.F32) {
		if err != nil {
			t.Fatal(err)
		}
		got[fmt.Sprint(n.Name, n.Shape)] = append([]float32(nil), quanttest.Floats(n.Data)...)
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
	quanttest.InRows(t, m, bound.Weights, want)
}

func TestExpertsThatCannotBeFusedAreNamed(t *testing.T) {
	for what, m := range map[string]tensor.Model{
		"a layer that is not there": llama4Experts("model.layers.0.feed_forward.experts.1.up_proj.weight"),
		"an expert that is not there": quanttest.Model(llama4, quanttest.Zeros("model.layers.0.feed_forward.experts.1.up_proj.weight", tensor.I8, 2, 3),
			quanttest.Zeros("model.layers.0.feed_forward.experts.1.up_proj.weight_scale", tensor.F32, 2, 1)),
		"an expert that is not quantized": quanttest.Model(llama4, quanttest.Zeros("model.layers.0.feed_forward.experts.0.up_proj.weight", tensor.BF16, 2, 3)),
	} {
		t.Run(what, func(t *testing.T) {
			bound, _, err := quanttest.Plan(t, m, quant.Options{Folder: true})
			if c := wire.ClassOf(err); c != wire.Malformed && c != wire.Unsupported || !strings.Contains(err.Error(), "experts") {
				t.Errorf("%v, %+v", err, bound)
			}
			if _, _, err := quanttest.Plan(t, m, quant.Options{}); err != nil {
				t.Errorf("a file keeps its own: %v", err)
			}
		})
	}
}

func TestWeightsOfConv1DAreTransposedInFolders(t *testing.T) {
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
		bound, _, err := quanttest.Plan(t, quanttest.Model(c.config, quanttest.Zeros(c.module+".weight", tensor.I8, 4, 6), quanttest.Zeros(c.module+".SCB", tensor.F32, 4)), quant.Options{Folder: true})
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
