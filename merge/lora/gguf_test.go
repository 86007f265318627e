package lora_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/merge/lora"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// ggufFile is a GGUF file of F32 and BF16 tensors.
func ggufFile(t *testing.T, b *limits.Budget, keys []gguf.Entry, tensors ...fixtures.Tensor) tensor.Model {
	t.Helper()
	var infos []tensor.Info
	for _, w := range tensors {
		kind, size := tensor.F32, 4
		if w.Type == "BF16" {
			kind, size = tensor.BF16, 2
		}
		infos = append(infos, tensor.Info{Name: w.Name, DType: kind, Shape: w.Shape, Span: tensor.Span{Len: int64(size * len(w.Values))}})
	}
	p, err := gguf.Layout(b, infos, keys, gguf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, p.Size)
	copy(data, p.Header)
	for i, w := range tensors {
		var raw []byte
		for _, f := range w.Values {
			if w.Type == "BF16" {
				raw = binary.LittleEndian.AppendUint16(raw, uint16(math.Float32bits(f)>>16))
			} else {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
			}
		}
		copy(data[p.Offsets[i]:], raw)
	}
	m, err := parser.OpenFS(b, fstest.MapFS{"a.gguf": {Data: data}}, "a.gguf")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAdaptersOfGGUF(t *testing.T) {
	whole := fixtures.Whole
	keys := func(more ...gguf.Entry) []gguf.Entry {
		return append([]gguf.Entry{{Key: "general.type", Value: "adapter"}, {Key: "general.architecture", Value: "llama"}, {Key: "adapter.type", Value: "lora"}}, more...)
	}
	alpha := gguf.Entry{Key: "adapter.lora.alpha", Value: float32(6)}
	good := []fixtures.Tensor{
		whole("l.weight.lora_a", "F32", 1, 3, 4), whole("l.weight.lora_b", "F32", 2, 5, 3),
		whole("token_embd.weight.lora_a", "F32", 3, 7, 3), whole("token_embd.weight.lora_b", "F32", 4, 4, 3),
	}
	for _, c := range []struct {
		name  string
		keys  []gguf.Entry
		parts []fixtures.Tensor
		says  string // of the refusal
		scale float32
	}{
		{"alpha over rank", keys(alpha), good, "", 2},
		{"no alpha", keys(gguf.Entry{Key: "adapter.lora.alpha", Value: float32(0)}), good, "", 1},
		{"alpha that is missing", keys(), good, "adapter.lora.alpha", 0},
		{"alpha of another kind", keys(gguf.Entry{Key: "adapter.lora.alpha", Value: uint32(6)}), good, "not a finite f32", 0},
		{"another method", keys(alpha, gguf.Entry{Key: "adapter.alora.invocation_tokens", Value: []uint32{1}}), good, "it is unknown", 0},
		{"no adapter", []gguf.Entry{{Key: "general.type", Value: "model"}, alpha}, good, "adapter and lora", 0},
		{"a tensor of no weight", keys(alpha), append(good[:4:4], whole("l.bias", "F32", 1, 5)), "lora_a or .lora_b", 0},
		{"half of a weight", keys(alpha), good[:3], "two matrices", 0},
		{"another shape", keys(alpha), []fixtures.Tensor{good[0], whole("l.weight.lora_b", "F32", 2, 6, 3)}, "[5 4]", 0},
		{"a weight that the base has not", keys(alpha), []fixtures.Tensor{whole("k.lora_a", "F32", 1, 3, 4), whole("k.lora_b", "F32", 2, 5, 3)}, "no tensor", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			ledger.Charges(t)
			b := limits.Policy{}.Budget(t.Context())
			t.Cleanup(b.Close)
			l, e := whole("l.weight", "F32", 8, 5, 4), whole("token_embd.weight", "F32", 9, 7, 4)
			base := ggufFile(t, b, []gguf.Entry{{Key: "general.architecture", Value: "llama"}}, l, e)
			m, err := lora.Merge(b, base, []lora.Adapter{{Model: ggufFile(t, b, c.keys, c.parts...), Weight: 1}})
			if c.says != "" {
				if class := wire.ClassOf(err); err == nil || !strings.Contains(err.Error(), c.says) || class != wire.Unsupported && class != wire.Malformed {
					t.Errorf("%v, want one that says %s", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, w := range []fixtures.Tensor{l, e} {
				want := make([]float32, len(w.Values))
				for k := range want {
					row, col := int64(k)/4, int64(k)%4
					want[k] = w.Values[k]
					for r := range int64(3) {
						left, right := good[1], func() float32 { return at(good[0], r, col) }
						if i == 1 {
							left, right = good[2], func() float32 { return at(good[3], col, r) }
						}
						want[k] += c.scale * at(left, row, r) * right()
					}
				}
				if diff := cmp.Diff(want, numbers(t, m, w.Name)); diff != "" {
					t.Errorf("%s: want -, got +:\n%s", w.Name, diff)
				}
			}
		})
	}
}

// llama-export-lora adds all adapters in float32: 256 + 1 + 1 in BF16 is 258, where 257 is no number of BF16.
func TestGGUFIsRoundedOnce(t *testing.T) {
	ledger.Charges(t)
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	llama := gguf.Entry{Key: "general.architecture", Value: "llama"}
	keys := []gguf.Entry{{Key: "general.type", Value: "adapter"}, llama, {Key: "adapter.type", Value: "lora"}, {Key: "adapter.lora.alpha", Value: float32(0)}}
	one := func(name string, shape ...int64) fixtures.Tensor {
		return fixtures.Tensor{Name: name, Type: "F32", Shape: shape, Values: []float32{1, 1}}
	}
	base := ggufFile(t, b, []gguf.Entry{llama}, fixtures.Tensor{Name: "l.weight", Type: "BF16", Shape: []int64{2, 2}, Values: []float32{256, 2, 256, 512}})
	var adapters []lora.Adapter
	for range 2 {
		adapters = append(adapters, lora.Adapter{Model: ggufFile(t, b, keys, one("l.weight.lora_a", 1, 2), one("l.weight.lora_b", 2, 1)), Weight: 1})
	}
	m, err := lora.Merge(b, base, adapters)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float32{258, 4, 258, 512}, numbers(t, m, "l.weight")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// An adapter of PEFT does not fit a GGUF model, whose names are others.
func TestContainersThatDoNotFit(t *testing.T) {
	ledger.Charges(t)
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	base := ggufFile(t, b, nil, fixtures.Whole("l.weight", "F32", 8, 5, 4))
	a := folder{`{"peft_type":"LORA","r":2}`, pair("l", 2, 5, 4)}.open(t, b, "adapter_model.safetensors", "adapter_config.json")
	if _, err := lora.Merge(b, base, []lora.Adapter{{Model: a, Weight: 1}}); wire.ClassOf(err) != wire.Unsupported {
		t.Error(err)
	}
}
