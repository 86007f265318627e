package scaled_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// formats are those of targets with a scale for each block, groupFormats those in groups.
func formats() []scaled.Format {
	list, _ := encode.Formats(quant.Targets())
	return list
}

// scaledGoldens is what transformers and compressed-tensors made of models, written
// by crosscheck/scaled.py.
const scaledGoldens = "../../testdata/forget/scaled"

// layoutGoldens is what ModelOpt, TorchAO and Triton made of models, written by
// crosscheck/layouts.py.
const layoutGoldens = "../../testdata/forget/layouts"

// goldensOf is the folder of a format.
func goldensOf(folder, format string) string {
	for _, layout := range []string{"modelopt_fp8", "torchao_", "gpt_oss"} {
		if strings.HasPrefix(format, layout) {
			return layoutGoldens
		}
	}
	return folder
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
			want := converttest.Stored(t, b, golden)
			for _, way := range []struct{ threads, tile int }{{1, 0}, {3, tile}} {
				m, p, err := converttest.Store(t, b, source, q, way.threads, way.tile)
				if err != nil {
					t.Fatal(err)
				}
				got := converttest.Stored(t, b, m)
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
		likeTheLibrary(t, goldensOf(scaledGoldens, f.Name), f.Name, converttest.To(t, f.Name, converttest.Measuring), 4096, 0.15)
	}
}

func TestMatricesThatScaledFormatsCannotHoldAreRefused(t *testing.T) {
	for what, x := range map[string]float32{"NaN": float32(math.NaN()), "infinity": float32(math.Inf(1)), "reciprocal": 1e-40} {
		numbers := make([]float32, 128*128)
		numbers[300] = x
		m := converttest.Source(t, map[string][]float32{"m.weight": numbers}, map[string][]int64{"m.weight": {128, 128}})
		b := limits.Policy{}.Budget(t.Context())
		_, _, err := converttest.Store(t, b, m, converttest.To(t, "fp8"), 1, 0)
		if wire.ClassOf(err) != wire.Unsupported {
			t.Errorf("%s: %v", what, err)
		}
		b.Close()
	}
}
