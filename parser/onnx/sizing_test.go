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
	named := slices.Concat(slices.Collect(maps.Keys(growths)), slices.Collect(maps.Keys(unary)), slices.Collect(maps.Keys(paired)), []string{"Constant", "Shape", "NonZero", "If", "no operator"})
	slices.Sort(named)
	odd := []float64{0, 1, 2, 3, -1, -2, -3, 0.5, 1 << 20, 1 << 62, 1e300, -1e300, math.NaN(), math.Inf(1), math.Inf(-1)}
	random := rand.New(rand.NewPCG(1, 2))
	constant := func() *folded {
		values := []float64{}
		for range random.IntN(4) {
			values = append(values, odd[random.IntN(len(odd))])
		}
		switch random.IntN(4) {
		case 0:
			return unbounded()
		case 1:
			return listed(values, []int64{int64(len(values))}, random.Int64N(29))
		}
		shape := make([]int64, random.IntN(4))
		for i := range shape {
			shape[i] = random.Int64N(1 << 40)
		}
		c := shaped(shape)
		c.data = random.IntN(4) == 0
		return c
	}
	known := 0
	for _, typ := range slices.Compact(named) {
		for range 2_000 {
			s := &sizing{typ: typ, sizes: map[string][]float64{}, outputs: []string{"x", "y"}}
			for name := range keptAttributes {
				if random.IntN(8) == 0 {
					s.sizes[name] = []float64{odd[random.IntN(len(odd))]}
				}
			}
			inputs := make([]*folded, random.IntN(6))
			for i := range inputs {
				if random.IntN(5) > 0 {
					inputs[i] = constant()
				}
			}
			for output := range 2 {
				n, _ := s.saidBy(inputs)
				c := s.compute(inputs, output, n)
				if c.values != nil {
					known++
				}
				if !(c.count >= 0) || len(c.values) > maxSmall || slices.ContainsFunc(c.shape, func(n int64) bool { return n < 0 }) {
					t.Fatalf("%s of %v: %v", typ, inputs, *c)
				}
			}
		}
	}
	if known == 0 {
		t.Error("no output is known")
	}
}
