package mxfp4_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// ossModel is a layer of gpt-oss whose stacks have the shape, with a config.json or
// without.
func ossModel(t *testing.T, config string, shape ...int64) tensor.Model {
	t.Helper()
	numbers := converttest.Wave(int(shape[0] * shape[1] * shape[2]))
	const stem = "model.layers.0.mlp.experts."
	m := converttest.Source(t, map[string][]float32{stem + "gate_up_proj": numbers, stem + "down_proj": numbers, "model.layers.0.mlp.router.weight": converttest.Wave(64)},
		map[string][]int64{stem + "gate_up_proj": shape, stem + "down_proj": shape, "model.layers.0.mlp.router.weight": {2, 32}})
	if config == "" {
		return m
	}
	return converttest.WithConfig(m, config)
}

func TestWeightsOfGptOssThatStayUnquantized(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	const oss = `{"model_type": "gpt_oss"}`
	for name, test := range map[string]struct {
		m     tensor.Model
		taken int
		why   string
	}{
		"a gpt-oss model":            {ossModel(t, oss, 2, 32, 64), 2, "not a stack of experts"},
		"no config.json":             {ossModel(t, "", 2, 32, 64), 0, "only config.json"},
		"another type":               {ossModel(t, `{"model_type": "llama4"}`, 2, 32, 64), 0, "only config.json"},
		"rows that no group divides": {ossModel(t, oss, 2, 40, 64), 0, "not a whole number"},
		"no experts":                 {ossModel(t, oss, 0, 32, 64), 0, "not a whole number"},
	} {
		_, p, err := converttest.Store(t, b, test.m, converttest.To(t, "gpt_oss", converttest.Measuring), 2, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := len(p.Quantized.Weights); n != test.taken || !strings.Contains(fmt.Sprint(p.Quantized.Kept), test.why) {
			t.Errorf("%s: %d weights, kept %v", name, n, p.Quantized.Kept)
		}
	}
	half := func(name string) bool { return strings.HasSuffix(name, "down_proj") }
	_, p, err := converttest.Store(t, b, ossModel(t, oss, 2, 32, 64), converttest.To(t, "gpt_oss", convert.Choices{Exclude: half}), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.QuantizationConfig(); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("one of two stacks: %v", err)
	}
	_, p, err = converttest.Store(t, b, ossModel(t, oss, 2, 32, 64), converttest.To(t, "gpt_oss", convert.Choices{Exclude: func(string) bool { return true }}), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := p.QuantizationConfig(); err != nil || !strings.Contains(string(text), `"model.layers.0.mlp.experts"`) {
		t.Errorf("both stacks: %v\n%s", err, text)
	}
}

func TestExpertsThatAreNotFiniteAreRefused(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	numbers := converttest.Wave(2 * 32 * 64)
	numbers[70] = float32(math.NaN())
	m := converttest.Source(t, map[string][]float32{"l.mlp.experts.down_proj": numbers}, map[string][]int64{"l.mlp.experts.down_proj": {2, 32, 64}})
	_, _, err := converttest.Store(t, b, converttest.WithConfig(m, `{"model_type": "gpt_oss"}`), converttest.To(t, "gpt_oss"), 1, 0)
	if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("NaN: %v", err)
	}
}
