package bnb_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// Both passes over a weight hold only ranges of it.
func TestQuantizingHoldsOnlyRangesOfAWeight(t *testing.T) {
	const rows, cols = 2048, 2048
	m := converttest.Source(t, map[string][]float32{"m.weight": converttest.Wave(rows * cols)}, map[string][]int64{"m.weight": {rows, cols}})
	for _, o := range []bnb.Layout{{Nested: true, Measure: true}, {Type: bnb.INT8}} {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		p, err := convert.NewPlan(b, m, convert.Options{Quantize: o, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Stream(converttest.NewMemory(p.Size)); err != nil {
			t.Fatal(err)
		}
		for _, u := range b.Usage() {
			if u.Axis == limits.Total && (u.Peak > 8<<20 || u.Peak < 1<<20) {
				t.Errorf("%+v: %d bytes for a weight of %d", o, u.Peak, 4*rows*cols)
			}
		}
	}
}
