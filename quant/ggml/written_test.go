package ggml_test

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// A quantized file has the types of the mix and decodes to nearly what it was, the
// same bytes for any number of workers and any tile.
func TestAQuantizedGGUF(t *testing.T) {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	b.Source(1 << 30)
	m := converttest.TinyLlama(t, b, 8, 512)
	var first []byte
	var got *gguf.File
	for _, threads := range []int{1, 4} {
		for _, tile := range []int{1, 3000, 1 << 20} {
			p, file, f := converttest.ToGGUF(t, b, m, ggml.Quantizer{Mix: converttest.Mix(t, "q4_k_m"), Measure: true}, threads, tile)
			if first == nil {
				first, got = file, f
				lost := p.Quantized.Lost()
				if e := lost.RelativeRMSE(); e == 0 || e > 0.1 || lost.N != 8*2*16*512+2*32*512 {
					t.Errorf("relative error %g of %d numbers", e, lost.N)
				}
			} else if !bytes.Equal(first, file) {
				t.Errorf("%d workers, tiles of %d: other bytes", threads, tile)
			}
		}
	}
	want := map[string]tensor.DType{
		"token_embd.weight": tensor.Q4_K, "output.weight": tensor.Q6_K, "output_norm.weight": tensor.F32,
		"blk.0.attn_v.weight": tensor.Q6_K, "blk.1.attn_v.weight": tensor.Q4_K, "blk.3.attn_v.weight": tensor.Q6_K, "blk.7.ffn_down.weight": tensor.Q6_K,
	}
	for i := range got.Tensors() {
		if w, ok := want[i.Name]; ok && w != i.DType {
			t.Errorf("%s is %v, want %v", i.Name, i.DType, w)
		}
	}
	for key, want := range map[string]any{"general.file_type": uint32(15), "general.quantization_version": uint32(2)} {
		if v, _ := got.Get(key); v != want {
			t.Errorf("%s is %v", key, v)
		}
	}
}

func TestModelsThatGGUFTypesCannotHoldAreRefused(t *testing.T) {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	b.Source(1 << 30)
	m := converttest.TinyLlama(t, b, 2, 512)
	odd := converttest.TinyLlama(t, b, 2, 80)
	for _, c := range []struct {
		name  string
		m     tensor.Model
		o     convert.Options
		class wire.Class
	}{
		{"safetensors has no blocks", m, convert.Options{Quantize: ggml.Quantizer{Mix: converttest.Mix(t, "q8_0")}}, wire.Usage},
		{"no mix", m, convert.Options{Sink: convert.GGUF{}, Quantize: ggml.Quantizer{}}, wire.Usage},
		{"a matrix of another model", m, convert.Options{Sink: convert.GGUF{}, Quantize: ggml.Quantizer{Mix: converttest.Mix(t, "q8_0"), Matrix: converttest.Importance(t, b, "other.weight", 512)}}, wire.Malformed},
		{"a matrix of other columns", m, convert.Options{Sink: convert.GGUF{RawNames: true}, Quantize: ggml.Quantizer{Mix: converttest.Mix(t, "q8_0"), Matrix: converttest.Importance(t, b, "blk.0.attn_v.weight", 256)}}, wire.Malformed},
		{"no encoder", m, convert.Options{Sink: convert.GGUF{RawNames: true}, Quantize: ggml.Quantizer{Mix: converttest.Mix(t, "q8_0"), Options: mix.Options{Override: func(string) tensor.DType { return tensor.Q8_1 }}}}, wire.Unsupported},
		{"a matrix is wanted by the type", m, convert.Options{Sink: convert.GGUF{RawNames: true}, Quantize: ggml.Quantizer{Mix: converttest.Mix(t, "q8_0"), Options: mix.Options{Tokens: tensor.IQ1_S}}}, wire.Unsupported},
		{"no fallback", odd, convert.Options{Sink: convert.GGUF{RawNames: true}, Quantize: ggml.Quantizer{Mix: converttest.Mix(t, "q1_0")}}, wire.Unsupported},
		{"a matrix is wanted", m, convert.Options{Sink: convert.GGUF{RawNames: true}, Quantize: ggml.Quantizer{Mix: converttest.Mix(t, "q2_k_s")}}, wire.Unsupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := convert.NewPlan(b, c.m, c.o); wire.ClassOf(err) != c.class {
				t.Errorf("%v", err)
			}
		})
	}
}

// Rows that no block fits become F16, as llama-quantize has it; so does what is asked
// for by name.
func TestRowsThatBlocksDoNotDivideBecomeF16(t *testing.T) {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	b.Source(1 << 30)
	for _, c := range []struct {
		cols int64
		o    mix.Options
		want tensor.DType
	}{
		{80, mix.Options{}, tensor.F16},
		{512, mix.Options{Override: func(string) tensor.DType { return tensor.BF16 }}, tensor.BF16},
	} {
		q := ggml.Quantizer{Mix: converttest.Mix(t, "q4_k_m"), Options: c.o, Measure: true}
		p, _, got := converttest.ToGGUF(t, b, converttest.TinyLlama(t, b, 2, c.cols), q, 0, 0)
		for i := range got.Tensors() {
			if strings.HasPrefix(i.Name, "blk.") && i.DType != c.want {
				t.Errorf("%s of %d columns is %v, want %v", i.Name, c.cols, i.DType, c.want)
			}
		}
		if lost := p.Quantized.Lost(); lost.RelativeRMSE() == 0 || lost.RelativeRMSE() > 0.01 && c.want == tensor.F16 {
			t.Errorf("relative error %g", lost.RelativeRMSE())
		}
	}
}

// A matrix without rows or columns is copied: there is nothing to encode.
func TestAnEmptyMatrixIsCopied(t *testing.T) {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	b.Source(1 << 30)
	for _, shape := range [][]int64{{4, 0}, {0, 256}} {
		infos := []tensor.Info{{Name: "blk.0.attn_q.weight", DType: tensor.F32, Shape: shape}}
		l, err := gguf.Layout(b, infos, []gguf.Entry{{Key: "general.architecture", Value: "llama"}}, gguf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, l.Size)
		copy(data, l.Header)
		m, err := gguf.Decode(b, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if p, _, _ := converttest.ToGGUF(t, b, m, ggml.Quantizer{Mix: converttest.Mix(t, "q8_0")}, 0, 0); len(p.Quantized.Weights) != 0 {
			t.Errorf("%v: %d weights", shape, len(p.Quantized.Weights))
		}
	}
}

// A weight with NaN is refused, left as it is, or made finite.
func TestWeightsWithNaNAreRefusedKeptOrMadeFinite(t *testing.T) {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	b.Source(1 << 30)
	numbers := converttest.Wave(32 * 256)
	numbers[700] = float32(math.Inf(1))
	infos := []tensor.Info{{Name: "output.weight", DType: tensor.F32, Shape: []int64{32, 256}}, {Name: "token_embd.weight", DType: tensor.F32, Shape: []int64{32, 256}}}
	m := converttest.GGUFWith(t, b, infos, []gguf.Entry{{Key: "general.architecture", Value: "llama"}}, func(i tensor.Info) []float32 {
		if i.Name == "output.weight" {
			return converttest.Wave(32 * 256)
		}
		return numbers
	})
	for _, nan := range []convert.NaN{convert.RefuseNaN, convert.KeepNaN, convert.ZeroNaN} {
		p, err := convert.NewPlan(b, m, convert.Options{Sink: convert.GGUF{RawNames: true}, Quantize: ggml.Quantizer{Mix: converttest.Mix(t, "q8_0")}, NaN: nan, Threads: 2, Tile: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Stream(converttest.NewMemory(p.Size))
		if refused := wire.ClassOf(err) == wire.Unsupported && strings.Contains(err.Error(), "element 700"); refused != (nan == convert.RefuseNaN) || !refused && err != nil {
			t.Errorf("%d: %v", nan, err)
		}
		numbers, weights := p.Quantized.Zeroed()
		kept := len(p.Quantized.Kept) == 1 && p.Quantized.Kept[0].Name == "token_embd.weight" && p.Outs[1].DType == tensor.F32
		if kept != (nan == convert.KeepNaN) || (numbers == 1 && weights == 1) != (nan == convert.ZeroNaN) {
			t.Errorf("%d: %d numbers of %d weights, kept %v", nan, numbers, weights, p.Quantized.Kept)
		}
	}
}

// Columns that no block divides, and an architecture that llama.cpp does not have.
func TestModelsThatAMixDoesNotFit(t *testing.T) {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	b.Source(1 << 30)
	one := func(arch string, cols int64) tensor.Model {
		return converttest.GGUFWith(t, b, []tensor.Info{{Name: "blk.0.ffn_up.weight", DType: tensor.F32, Shape: []int64{8, cols}}}, []gguf.Entry{{Key: "general.architecture", Value: arch}}, func(i tensor.Info) []float32 { return converttest.Wave(int(i.Elements())) })
	}
	for _, c := range []struct {
		name, mix string
		m         tensor.Model
		to        tensor.DType
		unknown   bool
		class     wire.Class
	}{
		{"whole blocks", "q4_k_m", one("llama", 512), tensor.Q4_K, false, wire.OK},
		{"blocks of 32", "q4_k_m", one("llama", 96), tensor.Q5_0, false, wire.OK},
		{"odd columns", "q4_k_m", one("llama", 33), tensor.F16, false, wire.OK},
		{"odd columns of what has no smaller type", "q1_0", one("llama", 33), 0, false, wire.Unsupported},
		{"an unknown architecture", "q4_k_m", one("unheard-of", 512), tensor.Q4_K, true, wire.OK},
		{"no architecture", "q4_k_m", one("", 512), 0, false, wire.Unsupported},
	} {
		p, err := convert.NewPlan(b, c.m, convert.Options{Sink: convert.GGUF{RawNames: true}, Quantize: ggml.Quantizer{Mix: converttest.Mix(t, c.mix)}})
		if wire.ClassOf(err) != c.class {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil && (p.Outs[0].DType != c.to || p.Quantized.ByName != c.unknown) {
			t.Errorf("%s: %v, by name %t", c.name, p.Outs[0].DType, p.Quantized.ByName)
		}
	}
}
