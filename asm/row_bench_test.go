package asm

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkRow encodes rows of 4096 numbers as models have them.
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
			b.Run(k.String()+"/"+c.name, func(b *testing.B) {
				b.SetBytes(int64(4 * len(row)))
				for b.Loop() {
					k.EncodeRow(dst, row, c.matrix)
				}
			})
		}
	}
}
