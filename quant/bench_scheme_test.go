package quant_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// BenchmarkScheme decodes one weight of each layout by ranges of rows, and says
// elements per second of the fastest time, and the share of a plain copy of what
// is written, in the same run. Transposed ones are as a folder has them.
func BenchmarkScheme(b *testing.B) {
	all := benchModels()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.Run(name, func(b *testing.B) { benchWeight(b, all[name](), quant.Options{FoldPreQuant: true}) })
	}
	transposed := transposedModels(all)
	for _, name := range slices.Sorted(maps.Keys(transposed)) {
		b.Run("transposed "+name, func(b *testing.B) { benchWeight(b, transposed[name](), quant.Options{Folder: true}) })
	}
}

func benchWeight(b *testing.B, m tensor.Model, o quant.Options) {
	account := limits.Policy{Timeout: limits.NoTimeout}.Budget(b.Context())
	defer account.Close()
	account.Source(1 << 30)
	bound, err := quant.Plan(account, m, o)
	if err != nil || len(bound.Weights) != 1 {
		b.Fatal(bound, err)
	}
	w := bound.Weights[0]
	parts := make([][]byte, len(w.Parts))
	for p, info := range w.Parts {
		parts[p] = make([]byte, info.Span.Len)
		if r, _ := m.At(info); wire.ReadFull(r, parts[p], 0) != nil {
			b.Fatal(err)
		}
	}
	step := w.Matrix().Step(64 * w.Cols())
	need, tile := make([][]byte, len(parts)), make([]float32, w.Matrix().Scratch(step))
	dst := make([]byte, w.Size(quant.BF16))
	size := w.Cols() * 2
	b.SetBytes(int64(len(dst)))
	best := time.Duration(1 << 62)
	for b.Loop() {
		start := time.Now()
		for lo := int64(0); lo < w.Rows(); lo += step {
			hi := min(lo+step, w.Rows())
			for p := range parts {
				span := w.Matrix().Need(p, lo, hi)
				need[p] = parts[p][span.Off:span.End()]
			}
			w.Matrix().Decode(dst[lo*size:hi*size], asm.BF16, need, lo, hi, tile)
		}
		best = min(best, time.Since(start))
	}
	src, copied := make([]byte, len(dst)), time.Duration(1<<62)
	for begin := time.Now(); time.Since(begin) < 30*time.Millisecond; {
		start := time.Now()
		copy(dst, src)
		copied = min(copied, time.Since(start))
	}
	b.ReportMetric(float64(w.Rows()*w.Cols())/1e6/best.Seconds(), "best-Melem/s")
	b.ReportMetric(100*copied.Seconds()/best.Seconds(), "%copy")
}
