package fuzz_test

import (
	"bytes"
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// BenchmarkHostile times the verdict on each hostile file of a format: Decode, and Verify
// for those that only it refuses. It names the slowest files, each with its best time.
func BenchmarkHostile(b *testing.B) {
	for _, f := range formats {
		files := hostile(b, f.name)
		b.Run(f.name, func(b *testing.B) {
			best := make([]time.Duration, len(files))
			for b.Loop() {
				for i, file := range files {
					start := time.Now()
					verdict(b, f, file)
					if d := time.Since(start); best[i] == 0 || d < best[i] {
						best[i] = d
					}
				}
			}
			order := make([]int, len(files))
			for i := range order {
				order[i] = i
			}
			slices.SortFunc(order, func(x, y int) int { return cmp.Compare(best[y], best[x]) })
			b.ReportMetric(float64(len(files)), "files/op")
			if len(order) > 0 {
				b.ReportMetric(best[order[0]].Seconds()*1e3, "slowest-ms")
			}
			for _, i := range order[:min(5, len(order))] {
				b.Logf("%10v  %s, %d bytes", best[i], files[i].name, len(files[i].data))
			}
		})
	}
}

func verdict(b *testing.B, f format, file file) {
	account := file.policy.Budget(b.Context())
	defer account.Close()
	_, _, err := examine(account, f, file.data)
	if got := wire.ClassOf(err).String(); got != file.recipe.Expect {
		b.Fatalf("%s: class %s: %v", file.name, got, err)
	}
}

// manyTensors is a header of 1.3 million tensors, as long as the format allows: the most
// work that a safetensors file can cause. The default policy refuses it early; the other
// one reads all of it.
const manyTensors = `# one header, 1.3 million tensors
expect: ok
--
len u64 {
	str "{"
	repeat 1299999 { fmt "\"w%06x\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}," i }
	str "\"w\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}"
}
`

func BenchmarkHostileManyTensors(b *testing.B) {
	r, err := corpus.Parse("safetensors", "many", manyTensors, []string{"ok"})
	if err != nil {
		b.Fatal(err)
	}
	data, err := r.Build()
	if err != nil {
		b.Fatal(err)
	}
	f := formatOf(b, "safetensors")
	for name, policy := range map[string]limits.Policy{"default": {}, "raised": {MaxItems: 1 << 30, MaxTotalBytes: 8 << 30, MaxSingleAlloc: 4 << 30}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			var class wire.Class
			var charged int64
			for b.Loop() {
				account := policy.Budget(b.Context())
				m, err := f.decode(account, bytes.NewReader(data), int64(len(data)))
				if err == nil {
					m.Close()
				}
				class, charged = wire.ClassOf(err), account.Charged()
				account.Close()
			}
			b.ReportMetric(float64(charged)/float64(len(data)), "charged/B")
			b.Logf("%d bytes: %v", len(data), class)
		})
	}
}
