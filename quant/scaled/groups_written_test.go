package scaled_test

import (
	"math"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

func groupFormats() []scaled.Groups {
	_, list := encode.Formats(quant.Targets())
	return list
}

// groupGoldens is what the libraries made of models, written by crosscheck/groups.py.
const groupGoldens = "../../testdata/forget/groups"

func TestCodesInGroupsAreThoseOfTheLibraries(t *testing.T) {
	for _, f := range groupFormats() {
		likeTheLibrary(t, goldensOf(groupGoldens, f.Name), f.Name, converttest.To(t, f.Name, converttest.Measuring), 2048, 0.7)
	}
}

func TestMatricesThatGroupsCannotHoldAreRefused(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for _, f := range groupFormats() {
		if f.Name == "gpt_oss" {
			continue // it takes only stacks of experts: TestWeightsOfGptOssThatStayUnquantized
		}
		for what, x := range map[string]float32{"NaN": float32(math.NaN()), "infinity": float32(math.Inf(-1))} {
			numbers := converttest.Wave(32 * 128)
			numbers[300] = x
			m := converttest.Source(t, map[string][]float32{"m.weight": numbers}, map[string][]int64{"m.weight": {32, 128}})
			_, _, err := converttest.Store(t, b, m, converttest.To(t, f.Name), 1, 0)
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
			m := converttest.Source(t, map[string][]float32{"m.weight": numbers}, map[string][]int64{"m.weight": {32, 128}})
			_, _, err := converttest.Store(t, b, m, converttest.To(t, f.Name, converttest.Measuring), 1, 0)
			if err != nil && (wire.ClassOf(err) != wire.Unsupported || math.Abs(float64(x)) < 65504) {
				t.Errorf("%v of %s: %v", x, f.Name, err)
			}
		}
	}
}

func TestMatricesThatGroupsDoNotDivideAreRefused(t *testing.T) {
	m := converttest.Source(t, map[string][]float32{"m.weight": converttest.Wave(8 * 40)}, map[string][]int64{"m.weight": {8, 40}})
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for _, f := range groupFormats() {
		if f.Size == 0 {
			continue
		}
		_, p, err := converttest.Store(t, b, m, converttest.To(t, f.Name), 1, 0)
		if err != nil || len(p.Quantized.Kept) != 1 || p.Outs[0].DType != tensor.F32 {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}
