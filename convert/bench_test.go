package convert_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// benchRows by benchCols is one weight of a layer.
const benchRows, benchCols = 4096, 11008

// Streams of one weight into a sink that discards them: the cost of reading, decoding and handing
// over, without the disk.
func BenchmarkStream(b *testing.B) {
	for _, c := range []struct {
		name string
		make func(dir string) string
	}{
		{"BF16", func(dir string) string {
			return benchSafetensors(b, dir, tensor.Info{Name: "w", DType: tensor.BF16, Shape: []int64{benchRows, benchCols}})
		}},
		{"FP8", func(dir string) string {
			return benchSafetensors(b, dir, tensor.Info{Name: "l.weight", DType: tensor.F8E4M3, Shape: []int64{benchRows, benchCols}},
				tensor.Info{Name: "l.weight_scale_inv", DType: tensor.F32, Shape: []int64{benchRows / 128, benchCols / 128}})
		}},
		{"Q8_0", func(dir string) string { return benchGGUF(b, dir, tensor.Q8_0) }},
		{"Q4_K", func(dir string) string { return benchGGUF(b, dir, tensor.Q4_K) }},
		// Numbers that are not finite: NaN everywhere, infinities everywhere.
		{"FP8 of NaN", func(dir string) string {
			return filled(b, benchSafetensors(b, dir, tensor.Info{Name: "l.weight", DType: tensor.F8E4M3, Shape: []int64{benchRows, benchCols}},
				tensor.Info{Name: "l.weight_scale_inv", DType: tensor.F32, Shape: []int64{benchRows / 128, benchCols / 128}}), 0x7F, 0x7F)
		}},
		{"Q8_0 of NaN", func(dir string) string { return filled(b, benchGGUF(b, dir, tensor.Q8_0), 0x7F, 0x7F) }},
		{"Q8_0 of infinities", func(dir string) string { return filled(b, benchGGUF(b, dir, tensor.Q8_0), 0x00, 0x7C) }},
		{"Q4_K of NaN", func(dir string) string { return filled(b, benchGGUF(b, dir, tensor.Q4_K), 0x7F, 0x7F) }},
		{"Q4_K of infinities", func(dir string) string { return filled(b, benchGGUF(b, dir, tensor.Q4_K), 0x00, 0x7C) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			account := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
			defer account.Close()
			m, err := parser.Open(account, c.make(b.TempDir()))
			if err != nil {
				b.Fatal(err)
			}
			defer m.Close()
			p, err := convert.NewPlan(account, m, convert.Options{Threads: 1})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(p.Size)
			for b.Loop() {
				if _, err := p.Stream(&counting{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchGGUF(b *testing.B, dir string, d tensor.DType) string {
	path := filepath.Join(dir, "b.gguf")
	sparse(b, path, []tensor.Info{{Name: "w", DType: d, Shape: []int64{benchRows, benchCols}}}, nil)
	randomize(b, path, 4096)
	return path
}

func benchSafetensors(b *testing.B, dir string, infos ...tensor.Info) string {
	account := limits.Policy{}.Budget(b.Context())
	defer account.Close()
	p, err := safetensors.Layout(account, infos, nil)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(dir, "b.safetensors")
	if err := os.WriteFile(path, p.Header, 0o666); err != nil {
		b.Fatal(err)
	}
	if err := os.Truncate(path, p.Size); err != nil {
		b.Fatal(err)
	}
	randomize(b, path, len(p.Header))
	return path
}

// randomize fills a file from an offset on with bytes that make no large numbers.
func randomize(b *testing.B, path string, from int) {
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := from; i < len(data); i++ {
		data[i] = byte(r.Uint32()) & 0xBF
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		b.Fatal(err)
	}
}

// filled repeats two bytes over all but the first and the last 4096 of a file.
func filled(b *testing.B, path string, even, odd byte) string {
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	for i := 4096; i < len(data)-4096; i += 2 {
		data[i], data[i+1] = even, odd
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		b.Fatal(err)
	}
	return path
}

// counting takes everything and keeps nothing.
type counting struct{ n atomic.Int64 }

func (c *counting) WriteAt(p []byte, _ int64) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}
