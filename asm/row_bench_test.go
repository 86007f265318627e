package asm

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkRow encodes rows of 4096 numbers as models have them, at each level.
func BenchmarkRow(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	row := make([]float32, 4096)
	for i := range row {
		row[i] = float32(0.02 * rng.NormFloat64())
	}
	matrix := make([]float32, len(row))
	for i := range matrix {
		matrix[i] = float32(rng.ExpFloat64())
	}
	for k := range Kinds {
		if !k.Encodes() {
			continue
		}
		dst := make([]byte, len(row)/k.Elems()*k.Bytes())
		for _, c := range []struct {
			name   string
			matrix []float32
		}{{"plain", nil}, {"matrix", matrix}} {
			for _, l := range Machine() {
				o := For(l.Features())
				b.Run(k.String()+"/"+c.name+"/"+l.String(), func(b *testing.B) {
					b.ReportMetric(1000*quickest(len(row), func() { o.EncodeRow(k, dst, row, c.matrix) }), "Me/s")
				})
			}
		}
	}
}
