package quant_test

import (
	"math/rand/v2"
	"testing"

	"github.com/anamnesis-go/anamnesis/quant"
)

// BenchmarkDecode rotates over many buffers of random blocks, so that no branch
// predictor learns their bits. Melem/s is what counts.
func BenchmarkDecode(b *testing.B) {
	const buffers, elements = 32, 1 << 15
	for _, c := range quant.Codecs() {
		b.Run(c.Type.String(), func(b *testing.B) {
			g, _ := c.Type.Geometry()
			size, _ := g.Size(elements)
			rng := rand.NewChaCha8([32]byte{1})
			src := make([][]byte, buffers)
			for i := range src {
				src[i] = make([]byte, size)
				rng.Read(src[i])
			}
			tile, dst := make([]float32, elements), make([]byte, 2*elements)
			b.SetBytes(int64(len(dst)))
			i := 0
			for b.Loop() {
				c.Decode(tile, src[i%buffers])
				quant.BF16.Put(dst, tile)
				i++
			}
			b.ReportMetric(float64(elements)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Melem/s")
		})
	}
}
