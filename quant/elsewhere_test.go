package quant_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// One file of a set, named alone, has codes whose scales lie in another.
func TestOneShardIsNotDecodedWithoutTheOthers(t *testing.T) {
	fp8, int8 := quanttest.Zeros("m.weight", tensor.F8E4M3, 128, 128), quanttest.Zeros("m.weight", tensor.I8, 8, 8)
	index := func(scale string) string {
		return `{"weight_map":{"m.weight":"model-00001-of-00002.safetensors","` + scale + `":"model-00002-of-00002.safetensors"}}`
	}
	for name, c := range map[string]struct {
		codes  quanttest.Stored
		pieces int
		index  string
		says   string // nothing: it is decoded
	}{
		"a whole file":                            {fp8, 0, "", ""},
		"a set of one":                            {fp8, 1, "", ""},
		"no index":                                {fp8, 2, "", "without an index its scale"},
		"an index with the scale":                 {fp8, 2, index("m.weight_scale_inv"), "model-00002-of-00002.safetensors"},
		"an index without a scale":                {fp8, 2, index("n.weight"), ""},
		"codes that are integers, and the scales": {int8, 2, index("m.weight_scale"), "model-00002-of-00002.safetensors"},
		"integers, and no scales":                 {int8, 2, index("n.weight"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := quanttest.Model("", c.codes)
			m.PieceOf(c.pieces)
			m.Folder = indexed(c.index)
			plansOrSays(t, m, c.says)
		})
	}
}

// Two files of one folder that no index and no name of a shard ties: the one that
// has the scale and not the weight belongs to the weight, as far as anyone knows.
func TestAWeightWhoseScaleIsInAnotherFileIsRefused(t *testing.T) {
	fp8, int8 := quanttest.Zeros("m.weight", tensor.F8E4M3, 128, 128), quanttest.Zeros("m.weight", tensor.I8, 8, 8)
	scale := quanttest.Zeros("m.weight_scale", tensor.F32, 1)
	index := `{"weight_map":{"m.weight":"a.safetensors"}}`
	for name, c := range map[string]struct {
		codes  quanttest.Stored
		beside []quanttest.Stored
		index  string
		says   string // nothing: it is decoded
	}{
		"a scale":                            {fp8, []quanttest.Stored{scale}, "", `"b.safetensors" beside this file`},
		"the first form's scale":             {fp8, []quanttest.Stored{quanttest.Zeros("m.scale_weight", tensor.F32, 1)}, "", `"m.scale_weight" is in "b.safetensors"`},
		"the scale of another weight":        {fp8, []quanttest.Stored{quanttest.Zeros("n.weight_scale", tensor.F32, 1)}, "", ""},
		"another model of the same weights":  {fp8, []quanttest.Stored{scale, fp8}, "", ""},
		"an unquantized model":               {fp8, []quanttest.Stored{quanttest.Zeros("m.weight", tensor.F16, 4, 4)}, "", ""},
		"an index of this file alone":        {fp8, []quanttest.Stored{scale}, index, ""},
		"an index of other files":            {fp8, []quanttest.Stored{scale}, `{"weight_map":{"n.weight":"c.safetensors"}}`, "b.safetensors"},
		"integers and a scale":               {int8, []quanttest.Stored{scale}, "", `"b.safetensors" beside this file`},
		"integers that stand for themselves": {int8, []quanttest.Stored{quanttest.Zeros("n.weight_scale", tensor.F32, 1)}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := quanttest.Model("", c.codes)
			m.Folder = indexed(c.index)
			m.Beside(func(_ *limits.Budget, each func(string, tensor.Model) error) error {
				return each("b.safetensors", quanttest.Model("", c.beside...))
			})
			plansOrSays(t, m, c.says)
		})
	}
}

// A limit reached by the files beside the model ends the plan, however often they are read.
func TestFilesBesideAModelCountAgainstItsLimits(t *testing.T) {
	m := quanttest.Model("", quanttest.Zeros("m.weight", tensor.F8E4M3, 8, 8), quanttest.Zeros("n.weight", tensor.F8E4M3, 8, 8))
	full := errors.New("full")
	m.Beside(func(*limits.Budget, func(string, tensor.Model) error) error { return full })
	if _, _, err := quanttest.Plan(t, m, quant.Options{}); !errors.Is(err, full) {
		t.Error(err)
	}
}

// indexed is a folder with an index of shards, if there is one.
func indexed(index string) fstest.MapFS {
	if index == "" {
		return fstest.MapFS{}
	}
	return fstest.MapFS{"model.safetensors.index.json": {Data: []byte(index)}}
}

// plansOrSays plans a model, which is refused as unsupported if there is something to say.
func plansOrSays(t *testing.T, m tensor.Model, says string) {
	t.Helper()
	_, _, err := quanttest.Plan(t, m, quant.Options{})
	switch {
	case says == "" && err != nil:
		t.Error(err)
	case says != "" && (wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), says)):
		t.Errorf("%v, want one that says %s", err, says)
	}
}
