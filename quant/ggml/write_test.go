package ggml_test

import (
	"iter"
	"math"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// A mix is of a model with llama.cpp's names, and a number whose scale float16 does not hold is
// refused and not written as infinity.
func TestMixesRefuseOtherModelsAndOverflow(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	x, _ := mix.Find("tq2_0")
	q := ggml.Quantizer{Mix: x, Options: mix.Options{Pure: true}}
	o := &encode.Options{Format: "gguf", Runs: func(string) bool { return true }}
	m := quanttest.Model("", quanttest.Zeros("blk.0.attn_v.weight", tensor.F32, 2, 256))
	if _, err := q.Start(b, m, o); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("a model of safetensors: %v", err)
	}
	m.Name = "gguf"
	e, err := q.Start(b, llama{m}, o)
	if err != nil {
		t.Fatal(err)
	}
	w, err := quant.Cast(&m.Infos[0])
	if err != nil {
		t.Fatal(err)
	}
	if v, err := e.Takes(w.Name, w.Shape); v != encode.EncodeIt || err != nil {
		t.Fatal(v, err)
	}
	one, err := e.Encode(w)
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range map[float32]wire.Class{65504: wire.OK, 65536: wire.Unsupported, float32(math.Inf(1)): wire.Unsupported} {
		numbers, dst := make([]float32, 512), make([]byte, one.Outs()[0].Size)
		numbers[3] = most
		if err := one.Put([][]byte{dst}, 0, numbers); wire.ClassOf(err) != want {
			t.Errorf("%v: %v", most, err)
		}
	}
}

// llama is a model of an architecture.
type llama struct{ *tensor.File }

// Meta names it.
func (llama) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) { yield("general.architecture", "llama") }
}
