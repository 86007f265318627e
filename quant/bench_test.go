package quant_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/quant"
)

// copies returns the elements per second of a plain copy to dst, rotating over the same number of
// buffers.
func copies(elements int, dst []byte) float64 {
	var src [32][]byte
	for i := range src {
		src[i] = make([]byte, len(dst))
	}
	start, n := time.Now(), 0
	for ; time.Since(start) < 20*time.Millisecond; n++ {
		copy(dst, src[n%len(src)])
	}
	return float64(elements) * float64(n) / time.Since(start).Seconds()
}

// BenchmarkDecode decodes by the scalar reference. It rotates over many buffers of random blocks,
// so that no branch predictor learns their bits. The figures to read are Melem/s and its ratio to a
// copy of the same number of BF16 elements.
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
			rate := float64(elements) * float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate/1e6, "Melem/s")
			b.ReportMetric(100*rate/copies(elements, dst), "%copy")
		})
	}
}
