package bnb_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// A packed, transposed weight that is too large to hold is quantized in strips: the bytes are those
// of the decoded file, with less memory than its codes take.
func TestStripsOfColumnsAreQuantizedAsTheWhole(t *testing.T) {
	if effort.Race || testing.Short() {
		t.Skip("much arithmetic")
	}
	const in, out, groups = 1000, 34816, 5
	infos := []tensor.Info{
		{Name: "l.qweight", DType: tensor.I32, Shape: []int64{in / 8, out}},
		{Name: "l.scales", DType: tensor.F16, Shape: []int64{groups, out}},
		{Name: "l.qzeros", DType: tensor.I32, Shape: []int64{groups, out / 8}},
	}
	b := converttest.Account(t)
	m := memoryModel(t, b, infos, func(p []byte, at []int64) {
		rand.NewChaCha8([32]byte{9}).Read(p[at[0]:])
		for i := at[1]; i < at[1]+2*groups*out; i += 2 { // scales between 1 and 2
			p[i+1] = 0x3C | p[i+1]&3
		}
	})
	bound, err := quant.Plan(b, m, quant.Options{})
	if err != nil {
		t.Fatal(err)
	}
	numbers := make([]byte, 4*in*out)
	if err := quant.Decode(b, m, bound.Weights[0], numbers, quant.F32); err != nil {
		t.Fatal(err)
	}
	plain := memoryModel(t, b, []tensor.Info{{Name: "l.weight", DType: tensor.F32, Shape: []int64{out, in}}}, func(p []byte, at []int64) {
		copy(p[at[0]:], numbers)
	})
	for name, o := range map[string]bnb.Layout{
		"NF4": {}, "INT8": {Type: bnb.INT8, Measure: true}, "scales quantized": {Block: 4096, Nested: true},
	} {
		t.Run(name, func(t *testing.T) {
			want, _, err := converttest.Quantized(t, plain, o, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := converttest.Quantized(t, m, o, 3, 0)
			if err != nil {
				t.Fatal(err)
			}
			a, b := partsOf(t, want), partsOf(t, got)
			if len(a) < 3 || len(a) != len(b) {
				t.Fatalf("%d and %d tensors", len(a), len(b))
			}
			for part := range a {
				if !bytes.Equal(a[part], b[part]) {
					t.Errorf("other bytes in %s", part)
				}
			}
		})
	}
	for _, o := range []bnb.Layout{{}, {Block: 4096, Nested: true}} {
		inLessThanItsCodes(t, m, o)
	}
}

func inLessThanItsCodes(t *testing.T, m tensor.Model, o bnb.Layout) {
	t.Helper()
	small := limits.Policy{MaxSingleAlloc: 16900 << 10}.Budget(context.Background())
	defer small.Close()
	small.Source(1 << 30)
	p, err := convert.NewPlan(small, m, convert.Options{Quantize: o, Requantize: true, Threads: 1})
	if err == nil {
		_, err = p.Stream(converttest.NewMemory(p.Size))
	}
	if errors.As(err, new(*limits.Error)) {
		t.Errorf("%+v: it takes as much at once as its codes: %v", o, err)
	} else if err != nil {
		t.Fatal(err)
	}
}

// memoryModel returns a file in memory, filled by a function that gets the offset of its tensors.
func memoryModel(t *testing.T, b *limits.Budget, infos []tensor.Info, fill func(p []byte, at []int64)) tensor.Model {
	t.Helper()
	p, err := safetensors.Layout(b, infos, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := make([]byte, p.Size)
	copy(file, p.Header)
	fill(file, p.Offsets)
	m, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// partsOf is the bytes of all tensors of a safetensors file but the texts, which
// name the type that a weight came in.
func partsOf(t *testing.T, p []byte) map[string][]byte {
	t.Helper()
	m, err := safetensors.Decode(converttest.Account(t), bytes.NewReader(p), int64(len(p)))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	for i := range m.Tensors() {
		if !strings.Contains(i.Name, "quant_state") {
			parts[i.Name] = p[i.Span.Off : i.Span.Off+i.Span.Len]
		}
	}
	return parts
}
