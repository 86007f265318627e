package convert_test

import (
	"math"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// groupGoldens is what the libraries made of models, written by crosscheck/groups.py.
const groupGoldens = "../testdata/forget/groups"

func TestCodesInGroupsAreThoseOfTheLibraries(t *testing.T) {
	for _, f := range groupFormats() {
		likeTheLibrary(t, goldensOf(groupGoldens, f.Name), f.Name, quantizerTo(t, f.Name, measuring), 2048, 0.7)
	}
}

// Loaders put the matrices of attention together under one number.
func TestFusedMatricesShareOneScale(t *testing.T) {
	large := wave(32 * 64)
	small := make([]float32, len(large))
	for i, x := range large {
		small[i] = x / 64
	}
	shape := []int64{32, 64}
	m := bnbSource(t, map[string][]float32{"a.q_proj.weight": small, "a.k_proj.weight": large, "a.o_proj.weight": small},
		map[string][]int64{"a.q_proj.weight": shape, "a.k_proj.weight": shape, "a.o_proj.weight": shape})
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for name, over := range map[string]string{"nvfp4": "_global_scale", "modelopt_nvfp4": "_scale_2"} {
		out, _, err := store(t, b, m, quantizerTo(t, name), 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		got := stored(t, b, out)
		q, k, o := got["a.q_proj.weight"+over], got["a.k_proj.weight"+over], got["a.o_proj.weight"+over]
		if q != k || q == o || q == "" {
			t.Errorf("%s: %q, %q and %q", name, q, k, o)
		}
	}
}

func TestMatricesThatGroupsCannotHoldAreRefused(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for _, f := range groupFormats() {
		if f.Library == scaled.GptOss {
			continue // it takes stacks of experts alone: TestWeightsOfGptOssThatStayUnquantized
		}
		for what, x := range map[string]float32{"NaN": float32(math.NaN()), "infinity": float32(math.Inf(-1))} {
			numbers := wave(32 * 128)
			numbers[300] = x
			m := bnbSource(t, map[string][]float32{"m.weight": numbers}, map[string][]int64{"m.weight": {32, 128}})
			_, _, err := store(t, b, m, quantizerTo(t, f.Name), 1, 0)
			if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "300") {
				t.Errorf("%s of %s: %v", what, f.Name, err)
			}
		}
	}
}

// Numbers at both ends of the range are stored, or refused by name.
func TestExtremeNumbersInGroups(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for _, f := range groupFormats() {
		for _, x := range []float32{math.SmallestNonzeroFloat32, 0x1p-127, 0x1p-126, 65504, math.MaxFloat32, -math.MaxFloat32} {
			numbers := make([]float32, 32*128)
			numbers[77] = x
			m := bnbSource(t, map[string][]float32{"m.weight": numbers}, map[string][]int64{"m.weight": {32, 128}})
			_, _, err := store(t, b, m, quantizerTo(t, f.Name, measuring), 1, 0)
			if err != nil && (wire.ClassOf(err) != wire.Unsupported || math.Abs(float64(x)) < 65504) {
				t.Errorf("%v of %s: %v", x, f.Name, err)
			}
		}
	}
}

func TestMatricesThatGroupsDoNotDivideAreRefused(t *testing.T) {
	m := bnbSource(t, map[string][]float32{"m.weight": wave(8 * 40)}, map[string][]int64{"m.weight": {8, 40}})
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for _, f := range groupFormats() {
		if f.Size == 0 {
			continue
		}
		_, p, err := store(t, b, m, quantizerTo(t, f.Name), 1, 0)
		if err != nil || len(p.Quantized.Kept) != 1 || p.Outs[0].DType != tensor.F32 {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}
