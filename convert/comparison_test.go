package convert_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// nested is the one of every whose scales are quantized.
const nested = 1

// every has all ways to quantize a model that is not GGUF.
func every() (list []convert.Quantizer) {
	list = append(list, bnb.Layout{Type: bnb.NF4, Measure: true}, bnb.Layout{Type: bnb.FP4, Nested: true, Block: 256, Measure: true}, bnb.Layout{Type: bnb.INT8, Measure: true})
	for _, to := range quant.Targets() {
		if to.Layout() != "" {
			list = append(list, to.Quantizer(converttest.Measuring))
		}
	}
	return list
}

// All ways measured in one pass have the errors that each has when it is written.
func TestComparedErrorsAreThoseOfTheWrittenFile(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	shapes := map[string][]int64{"a.weight": {128, 256}, "b.weight": {33, 40}, "c.q_proj.weight": {384, 128}, "d.weight": {0, 8}, "e": {7}}
	numbers := map[string][]float32{}
	for name, shape := range shapes {
		n := int64(1)
		for _, d := range shape {
			n *= d
		}
		numbers[name] = converttest.Wave(int(n))
	}
	m := converttest.Source(t, numbers, shapes)
	for _, threads := range []int{1, 3} {
		all := convert.NewComparison(b)
		for _, q := range every() {
			if err := all.Add(m, convert.Options{Quantize: q, Threads: threads}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := all.Measure(); err != nil {
			t.Fatal(err)
		}
		if done, size := all.Progress(); done != size || size != 4*(128*256+33*40+384*128) {
			t.Errorf("%d of %d bytes", done, size)
		}
		for i, q := range every() {
			_, p, err := converttest.Store(t, b, m, q, 2, 3000)
			if err != nil {
				t.Fatal(err)
			}
			for k, w := range p.Quantized.Weights {
				if got := all.Plans[i].Quantized.Weights[k]; got.Lost != w.Lost || got.Name != w.Name || w.Elements > 0 && got.Lost.N == 0 && i != nested {
					t.Errorf("%s, %s: %+v, written %+v", p.Quantized.Layout, w.Name, got.Lost, w.Lost)
				}
			}
		}
	}
}

func TestComparedNaNIsNamed(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	numbers := converttest.Wave(64 * 64)
	numbers[100] /= 0 * numbers[0]
	m := converttest.Source(t, map[string][]float32{"m.weight": numbers}, map[string][]int64{"m.weight": {64, 64}})
	for _, nan := range []convert.NaN{convert.RefuseNaN, convert.ZeroNaN} {
		all := convert.NewComparison(b)
		if err := all.Add(m, convert.Options{Quantize: bnb.Layout{Measure: true}, NaN: nan}, nil); err != nil {
			t.Fatal(err)
		}
		if err := all.Measure(); (wire.ClassOf(err) == wire.Unsupported) != (nan == convert.RefuseNaN) {
			t.Error(err)
		}
	}
}
