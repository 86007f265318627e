package onnx

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Each operator that is computed has an output for any number of constants with any numbers, some of
// which are not given: a runtime refuses most of these, the parser reads them first.
func TestOperatorsTakeAnyConstants(t *testing.T) {
	named := slices.Concat(slices.Collect(maps.Keys(unary)), slices.Collect(maps.Keys(paired)), slices.Collect(maps.Keys(reduced)), slices.Collect(maps.Keys(passed)), slices.Collect(maps.Keys(kept)),
		slices.Collect(maps.Keys(chosen)), slices.Collect(maps.Keys(asList)), slices.Collect(maps.Keys(joined)), slices.Collect(maps.Keys(multiplied)), slices.Collect(maps.Keys(elementwise)), slices.Collect(maps.Keys(sizes)))
	slices.Sort(named)
	odd := []float64{0, 1, 2, 3, -1, -2, -3, 0.5, 1 << 20, 1 << 62, 1e300, -1e300, math.NaN(), math.Inf(1), math.Inf(-1)}
	random := rand.New(rand.NewPCG(1, 2))
	constant := func() *folded {
		c := &folded{count: float64(random.IntN(5)), loose: random.IntN(4) == 0}
		for range random.IntN(4) {
			c.values = append(c.values, odd[random.IntN(len(odd))])
		}
		if random.IntN(3) > 0 {
			c = &folded{values: c.values, shape: make([]int64, random.IntN(4)), count: c.count, loose: c.loose}
		}
		for i := range c.shape {
			c.shape[i] = random.Int64N(1 << 40)
		}
		return c
	}
	known := 0
	for _, typ := range slices.Compact(named) {
		for range 2_000 {
			s := &sizing{typ: typ, sizes: map[string][]float64{"start": {odd[random.IntN(len(odd))]}, "end": {odd[random.IntN(len(odd))]}}}
			inputs := make([]*folded, random.IntN(6))
			for i := range inputs {
				if random.IntN(5) > 0 {
					inputs[i] = constant()
				}
			}
			for output := range 2 {
				c := s.compute(inputs, output)
				if c.values != nil {
					known++
				}
				if !(c.count >= 0) || len(c.values) > maxSmall || slices.ContainsFunc(c.shape, func(n int64) bool { return n < 0 }) {
					t.Fatalf("%s of %v: %v", typ, inputs, *c)
				}
			}
			if _, err := (&decoder{dry: true}).saidBy(s, inputs); err != nil {
				t.Fatal(err)
			}
		}
	}
	if known == 0 {
		t.Error("no output is known")
	}
}
