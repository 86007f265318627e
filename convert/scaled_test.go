package convert_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// scaledGoldens is what transformers and compressed-tensors made of models, written
// by crosscheck/scaled.py.
const scaledGoldens = "../testdata/forget/scaled"

// layoutGoldens is what ModelOpt, TorchAO and Triton made of models, written by
// crosscheck/layouts.py.
const layoutGoldens = "../testdata/forget/layouts"

// goldensOf is the folder of a format.
func goldensOf(folder, format string) string {
	for _, layout := range []string{"modelopt_fp8", "torchao_", "gpt_oss"} {
		if strings.HasPrefix(format, layout) {
			return layoutGoldens
		}
	}
	return folder
}

// stored lists the tensors of a model with their bytes.
func stored(t *testing.T, b *limits.Budget, m tensor.Model) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i := range m.Tensors() {
		body, err := m.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil {
			t.Fatal(err)
		}
		shape, _ := json.Marshal(i.Shape)
		out[i.Name] = i.DType.String() + string(shape) + string(p)
	}
	return out
}

// store quantizes a model in memory and reads it back.
func store(t *testing.T, b *limits.Budget, m tensor.Model, q convert.Quantizer, threads, tile int) (tensor.Model, *convert.Plan, error) {
	t.Helper()
	p, err := convert.NewPlan(b, m, convert.Options{Quantize: q, Threads: threads, Tile: tile})
	if err != nil {
		return nil, nil, err
	}
	out := &inMemory{make([]byte, p.Size)}
	if _, err := p.Stream(out); err != nil {
		return nil, nil, err
	}
	got, err := safetensors.Decode(b, bytes.NewReader(out.p), int64(len(out.p)))
	return got, p, err
}

// likeTheLibrary stores the models of a folder of goldens in a format, in several
// ways, and compares with what its library made of them. most is the largest relative
// error that the format may have.
func likeTheLibrary(t *testing.T, folder, format string, q convert.Quantizer, tile int, most float64) {
	for _, kind := range []string{"float32", "float16", "bfloat16"} {
		t.Run(kind+" "+format, func(t *testing.T) {
			b := limits.Policy{}.Budget(t.Context())
			defer b.Close()
			from := kind + ".safetensors"
			if format == "gpt_oss" { // whose config.json says which way its experts lie
				from = kind
			}
			source, err := parser.Open(b, filepath.Join(folder, from))
			if err != nil {
				t.Fatal(err)
			}
			golden, err := parser.Open(b, filepath.Join(folder, kind+"-"+format+".safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			want := stored(t, b, golden)
			for _, way := range []struct{ threads, tile int }{{1, 0}, {3, tile}} {
				m, p, err := store(t, b, source, q, way.threads, way.tile)
				if err != nil {
					t.Fatal(err)
				}
				got := stored(t, b, m)
				for name := range want {
					if got[name] != want[name] {
						t.Errorf("%+v: %s differs", way, name)
					}
				}
				if len(got) != len(want) {
					t.Errorf("%d tensors, want %d", len(got), len(want))
				}
				if lost := p.Quantized.Lost(); lost.N == 0 || lost.RelativeRMSE() > most {
					t.Errorf("relative error %v of %d numbers", lost.RelativeRMSE(), lost.N)
				}
			}
		})
	}
}

func TestCodesUnderScalesAreThoseOfTheLibraries(t *testing.T) {
	for _, f := range formats() {
		likeTheLibrary(t, goldensOf(scaledGoldens, f.Name), f.Name, quantizerTo(t, f.Name, measuring), 4096, 0.15)
	}
}

// Long rows are encoded some hundred blocks at a time.
func TestScalesOfLongRows(t *testing.T) {
	const rows, cols = 16, 700 * 128
	numbers := map[string][]float32{"m.weight": wave(rows * cols)}
	m := bnbSource(t, numbers, map[string][]int64{"m.weight": {rows, cols}})
	short := bnbSource(t, numbers, map[string][]int64{"m.weight": {rows * 700, 128}})
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	var got [2]map[string]string
	for i, m := range []tensor.Model{m, short} {
		out, _, err := store(t, b, m, quantizerTo(t, "w4a16", measuring), 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = stored(t, b, out)
	}
	for _, name := range []string{"m.weight_packed", "m.weight_scale"} {
		a, b := got[0][name], got[1][name]
		if a[strings.Index(a, "]"):] != b[strings.Index(b, "]"):] {
			t.Errorf("%s of one row of blocks is not that of many", name)
		}
	}
}

func TestMatricesThatScaledFormatsCannotHoldAreRefused(t *testing.T) {
	for what, x := range map[string]float32{"NaN": float32(math.NaN()), "infinity": float32(math.Inf(1)), "reciprocal": 1e-40} {
		numbers := make([]float32, 128*128)
		numbers[300] = x
		m := bnbSource(t, map[string][]float32{"m.weight": numbers}, map[string][]int64{"m.weight": {128, 128}})
		b := limits.Policy{}.Budget(t.Context())
		_, _, err := store(t, b, m, quantizerTo(t, "fp8"), 1, 0)
		if wire.ClassOf(err) != wire.Unsupported {
			t.Errorf("%s: %v", what, err)
		}
		b.Close()
	}
}

// withMeta is a model of a safetensors file with metadata.
type withMeta struct {
	tensor.Model
	meta map[string]any
}

func (m withMeta) Format() string               { return safetensors.Format }
func (m withMeta) Meta() iter.Seq2[string, any] { return maps.All(m.meta) }

// Metadata of the source stay, but under names that descriptions of weights need.
func TestMetadataOfTheSourceAreKeptWithThoseOfTorchAO(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m := bnbSource(t, map[string][]float32{"m.weight": wave(64 * 128)}, map[string][]int64{"m.weight": {64, 128}})
	out, _, err := store(t, b, withMeta{m, map[string]any{"note": "kept", "tensor_names": "of another file"}}, quantizerTo(t, "torchao_int8"), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for k, v := range out.Meta() {
		got[k] = v
	}
	if got["note"] != "kept" || got["tensor_names"] != `["m.weight"]` || !strings.Contains(fmt.Sprint(got["m.weight"]), "Int8Tensor") {
		t.Error(got)
	}
}
