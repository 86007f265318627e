package quant_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// One file of a set, named alone, has codes whose scales lie in another.
func TestAShardAloneIsNotDecodedWithoutTheOthers(t *testing.T) {
	fp8, int8 := ints("m.weight", tensor.F8E4M3, 128, 128), ints("m.weight", tensor.I8, 8, 8)
	index := func(scale string) string {
		return `{"weight_map":{"m.weight":"model-00001-of-00002.safetensors","` + scale + `":"model-00002-of-00002.safetensors"}}`
	}
	for name, c := range map[string]struct {
		codes  stored
		pieces int
		index  string
		says   string // nothing: it is decoded
	}{
		"a whole file":                            {fp8, 0, "", ""},
		"a set of one":                            {fp8, 1, "", ""},
		"no index":                                {fp8, 2, "", "no index beside it"},
		"an index with the scale":                 {fp8, 2, index("m.weight_scale_inv"), "model-00002-of-00002.safetensors"},
		"an index without a scale":                {fp8, 2, index("n.weight"), ""},
		"codes that are integers, and the scales": {int8, 2, index("m.weight_scale"), "model-00002-of-00002.safetensors"},
		"integers, and no scales":                 {int8, 2, index("n.weight"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := model("", c.codes)
			m.PieceOf(c.pieces)
			m.Folder = fstest.MapFS{}
			if c.index != "" {
				m.Folder = fstest.MapFS{"model.safetensors.index.json": {Data: []byte(c.index)}}
			}
			_, _, err := plan(t, m, quant.Options{})
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%v, want one that says %s", err, c.says)
			}
		})
	}
}
