package form

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/asm"
)

// Every codec has kernels, which give what it decodes: all bytes, and lengths
// that are no multiple of what kernels take.
func TestCodecsWriteWhatTheyDecode(t *testing.T) {
	scalar := asm.For(0)
	for _, c := range Codecs {
		t.Run(c.Dtype.String(), func(t *testing.T) {
			if c.Kernel == nil {
				t.Fatal("no kernel")
			}
			rng := rand.NewChaCha8([32]byte([]byte("codecs that write what they read")))
			g, _ := c.Dtype.Geometry()
			for _, blocks := range []int{0, 1, 3, 67, 1024} {
				src := make([]byte, blocks*int(g.Bytes))
				rng.Read(src)
				for i := range min(256, len(src)) {
					src[i] = byte(i)
				}
				tile := make([]float32, blocks*int(g.Elems))
				c.Decode(tile, src)
				for _, to := range []asm.Type{asm.BF16, asm.F16, asm.F32} {
					want := make([]byte, len(tile)*to.Size())
					scalar.Put(to, want, tile)
					for _, o := range everyLevel() {
						got := make([]byte, len(want))
						c.Write(o, got, to, src, make([]float32, len(tile)))
						if !bytes.Equal(want, got) {
							t.Fatalf("%v to %v, %d blocks: differs", o.Level(), to, blocks)
						}
					}
				}
			}
		})
	}
}

// BenchmarkWrite decodes by the kernels of each level, in the caches.
func BenchmarkWrite(b *testing.B) {
	const elements = 1 << 15
	for _, c := range Codecs {
		g, _ := c.Dtype.Geometry()
		src := make([]byte, elements/int(g.Elems)*int(g.Bytes))
		rand.NewChaCha8([32]byte{1}).Read(src)
		for _, o := range everyLevel() {
			b.Run(c.Dtype.String()+"/"+o.Level().String(), func(b *testing.B) {
				dst, tile, best := make([]byte, 2*elements), make([]float32, elements), time.Duration(1<<62)
				for b.Loop() {
					begin := time.Now()
					c.Write(o, dst, asm.BF16, src, tile)
					best = min(best, time.Since(begin))
				}
				b.ReportMetric(elements/float64(best.Nanoseconds()), "best-Ge/s")
			})
		}
	}
}
