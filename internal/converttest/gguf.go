package converttest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
	"github.com/anamnesis-go/anamnesis/quant/ggml/imatrix"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// TinyLlama returns a llama in F32 of n layers, each of one attention and one feed-forward
// matrix, with rows of cols numbers.
func TinyLlama(t *testing.T, b *limits.Budget, n int, cols int64) tensor.Model {
	t.Helper()
	var infos []tensor.Info
	add := func(name string, shape ...int64) {
		infos = append(infos, tensor.Info{Name: name, DType: tensor.F32, Shape: shape})
	}
	add("token_embd.weight", 32, cols)
	add("output_norm.weight", cols)
	add("output.weight", 32, cols)
	for i := range n {
		add(fmt.Sprintf("blk.%d.attn_v.weight", i), 16, cols)
		add(fmt.Sprintf("blk.%d.ffn_down.weight", i), 16, cols)
	}
	meta := []gguf.Entry{
		{Key: "general.architecture", Value: "llama"}, {Key: "llama.block_count", Value: uint32(n)},
		{Key: "llama.attention.head_count", Value: uint32(4)}, {Key: "llama.attention.head_count_kv", Value: uint32(4)},
	}
	return GGUFWith(t, b, infos, meta, func(i tensor.Info) []float32 { return Times(0.1, Wave(int(i.Elements()))) })
}

// GGUFWith returns a model in F32 whose numbers a function gives.
func GGUFWith(t *testing.T, b *limits.Budget, infos []tensor.Info, meta []gguf.Entry, numbers func(tensor.Info) []float32) tensor.Model {
	t.Helper()
	data := GGUFBytes(t, b, infos, meta, numbers)
	m, err := gguf.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// GGUFBytes returns the file of such a model.
func GGUFBytes(t *testing.T, b *limits.Budget, infos []tensor.Info, meta []gguf.Entry, numbers func(tensor.Info) []float32) []byte {
	t.Helper()
	p, err := gguf.Layout(b, infos, meta, gguf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, p.Size)
	copy(data, p.Header)
	for i, info := range infos {
		for k, v := range numbers(info) {
			putFloat(data[p.Offsets[i]+int64(4*k):], v)
		}
	}
	return data
}

// Times multiplies the numbers of list by f, in place.
func Times(f float32, list []float32) []float32 {
	for i := range list {
		list[i] *= f
	}
	return list
}

func putFloat(p []byte, v float32) {
	u := math.Float32bits(v)
	p[0], p[1], p[2], p[3] = byte(u), byte(u>>8), byte(u>>16), byte(u>>24)
}

// Mix returns a mix of llama.cpp by its name.
func Mix(t *testing.T, name string) mix.Mix {
	t.Helper()
	x, ok := mix.Find(name)
	if !ok {
		t.Fatalf("no mix %s", name)
	}
	return x
}

// ToGGUF quantizes a model to GGUF in memory, and returns the plan, the file, and the model that
// is read from it.
func ToGGUF(t *testing.T, b *limits.Budget, m tensor.Model, q ggml.Quantizer, threads, tile int) (*convert.Plan, []byte, *gguf.File) {
	t.Helper()
	p, err := convert.NewPlan(b, m, convert.Options{Sink: convert.GGUF{RawNames: true}, Quantize: q, Threads: threads, Tile: tile})
	if err != nil {
		t.Fatal(err)
	}
	out := NewMemory(p.Size)
	if _, err := p.Stream(out); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Decode(b, bytes.NewReader(out.Bytes), int64(len(out.Bytes)))
	if err != nil {
		t.Fatal(err)
	}
	return p, out.Bytes, f
}

// Importance returns an importance matrix of one weight, in the format before GGUF.
func Importance(t *testing.T, b *limits.Budget, name string, cols int) *ggml.Importance {
	t.Helper()
	var p []byte
	number := func(n int) { p = binary.LittleEndian.AppendUint32(p, uint32(n)) }
	number(1)
	number(len(name))
	p = append(p, name...)
	number(1)
	number(cols)
	for i := range cols {
		number(int(math.Float32bits(float32(1 + i%3))))
	}
	m, err := imatrix.Read(b, bytes.NewReader(p), int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}
