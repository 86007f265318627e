package fuzz_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// linearShapes are shapes of matrices: multiples of every format's block, of some, and of
// none.
var linearShapes = [][]int64{{32, 128}, {128, 128}, {64, 256}, {33, 64}, {3, 40}, {130, 132}, {1, 200}, {1, 16}}

// FuzzLinear quantizes a model of one matrix to each format of scaled codes. The file must
// be the same for any number of workers and any tiles, must bind and decode, and decoded
// values must be near the originals.
func FuzzLinear(f *testing.F) {
	f.Add([]byte{0, 0, 128, 63, 0, 0, 128, 191, 7}, uint8(0), uint8(1), uint8(1))
	f.Add([]byte{0x12, 0x34, 0x56, 0x78, 0x9A}, uint8(31), uint8(3), uint8(77))
	f.Add(bytes.Repeat([]byte{0, 0, 0, 128}, 3), uint8(20), uint8(2), uint8(3))
	f.Add([]byte{1, 0, 0, 0, 0xFF, 0xFF, 0x7F, 0x7F}, uint8(5), uint8(5), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, which, shape, how uint8) {
		q, most := linearFormat(int(which))
		s := linearShapes[int(shape)%len(linearShapes)]
		src := numbersFrom(data, int(s[0]*s[1]), kinds[how%3], how&64 != 0)
		file := oneMatrix(t, s, how%3, src)
		var first linearModel
		var refused string
		for i, w := range [...]convert.Options{{Threads: 1}, {Threads: 4, Tile: 128}, {Threads: 3, Tile: 1000}} {
			w.Quantize = q
			out, err := asLinear(t, file, w)
			if i == 0 {
				first, refused = out, fmt.Sprint(err)
			}
			if out != first || fmt.Sprint(err) != refused {
				t.Fatalf("%d workers, tiles of %d: %v, before %s", w.Threads, w.Tile, err, refused)
			}
		}
		if wild := firstWild(src); wild >= 0 && (first.weights > 0) {
			t.Fatalf("element %d is %v, and taken", wild, src[wild])
		}
		if first.weights > 0 {
			nearMatrix(t, first, src, most)
		}
	})
}

// A linearModel is a quantized model and its config.json.
type linearModel struct {
	file, config string
	weights      int
}

// open opens the model with its configuration.
func (w *linearModel) open(t *testing.T, b *limits.Budget) (tensor.Model, []*quant.Weight) {
	t.Helper()
	m, err := safetensors.Decode(b, strings.NewReader(w.file), int64(len(w.file)))
	if err != nil {
		t.Fatal(err)
	}
	m.Folder = fstest.MapFS{"config.json": {Data: []byte(w.config)}}
	bound, err := quant.Plan(b, m, quant.Options{Target: quant.F32})
	if err != nil {
		t.Fatal(err)
	}
	return m, bound.Weights
}

// linearFormat returns a format, and the largest error of a value as a share of the
// matrix's largest magnitude: half the largest step, and the rounding of the scale.
func linearFormat(which int) (convert.Quantizer, float64) {
	single := blockFormats()
	groups := slices.DeleteFunc(groupFormats(), func(f scaled.Groups) bool { return f.Name == "gpt_oss" }) // stacks of experts alone
	which %= len(single) + len(groups)
	if which < len(single) {
		share := map[scaled.Code]float64{scaled.E4M3: 1. / 16, scaled.E5M2: 1. / 8, scaled.Int8: 1. / 100, scaled.Int8Packed: 1. / 100, scaled.Int4: 1. / 10}
		return measured(single[which].Name), share[single[which].Code]
	}
	f := groups[which-len(single)]
	share := 2.5 / float64(int(1)<<f.Bits-1) // a step or more: zero points and MLX' biases are rounded
	switch {
	case f.Name == "awq":
		share = 1.1 // 0 need not be in its range: numbers of one sign may lose everything
	case strings.HasPrefix(f.Name, "gptq"):
		share = 0.7 // without negative numbers its range is from 0, and its zero point in the middle
	case f.Bits == 8 && !f.Float:
		share = 1. / 40
	case f.E5M2:
		share = 1. / 8
	case f.Bits == 8 && f.Float:
		share = 1. / 14
	case f.Float:
		share = 1. / 4
	}
	return measured(f.Name), share
}

// asLinear returns the quantized model, or nothing if it must be refused.
func asLinear(t *testing.T, file []byte, o convert.Options) (linearModel, error) {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	p, err := convert.NewPlan(b, m, o)
	if err != nil {
		if c := wire.ClassOf(err); c != wire.Unsupported && c != wire.Usage {
			t.Fatal(err)
		}
		return linearModel{}, err
	}
	out := &inMemory{p: make([]byte, p.Size)}
	if _, err := p.Stream(out); err != nil {
		if wire.ClassOf(err) != wire.Unsupported {
			t.Fatal(err)
		}
		return linearModel{}, err
	}
	config, err := p.QuantizationConfig()
	if err != nil {
		t.Fatal(err)
	}
	w := linearModel{string(out.p), "{}", len(p.Quantized.Weights)}
	if config != nil {
		member := "quantization_config"
		if !bytes.Contains(config, []byte("quant_method")) { // as MLX writes it
			member = "quantization"
		}
		w.config = fmt.Sprintf(`{"model_type": "llama", %q: %s}`, member, config)
	}
	return w, nil
}

// measured is the quantizer of a target.
func measured(name string) convert.Quantizer {
	t, _ := quant.TargetNamed(name)
	return t.Quantizer(convert.Choices{Measure: true})
}

// oneMatrix returns a safetensors file with the weight of a linear module.
func oneMatrix(t *testing.T, shape []int64, kind uint8, src []float32) []byte {
	t.Helper()
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	dtype := [...]tensor.DType{tensor.F32, tensor.BF16, tensor.F16}[kind]
	plan, err := safetensors.Layout(b, []tensor.Info{{Name: "model.layers.0.mlp.up_proj.weight", DType: dtype, Shape: shape}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	to := [...]quant.Target{quant.F32, quant.BF16, quant.F16}[kind]
	body := make([]byte, len(src)*to.Size())
	to.Put(body, src)
	return append(bytes.Clone(plan.Header), body...)
}

// nearMatrix decodes the only weight of a model and compares.
func nearMatrix(t *testing.T, w linearModel, src []float32, share float64) {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	m, weights := w.open(t, b)
	if len(weights) != 1 {
		t.Fatalf("%d weights bind", len(weights))
	}
	body := make([]byte, 4*len(src))
	if err := quant.Decode(b, m, weights[0], body, quant.F32); err != nil {
		t.Fatal(err)
	}
	most := float64(0)
	for _, x := range src {
		most = max(most, math.Abs(float64(x)))
	}
	if most < 1e-2 || most > 1e3 {
		return
	}
	for i, x := range src {
		y := math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:]))
		if off := math.Abs(float64(x) - float64(y)); !(off <= share*most+1e-5) {
			t.Fatalf("%s: element %d is %v, and decodes to %v; the largest is %v", weights[0].Layout, i, x, y, most)
		}
	}
}
