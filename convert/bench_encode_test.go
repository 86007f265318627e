package convert_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// BenchmarkEncode quantizes a BF16 model of a few matrices into a sink that discards it, with one
// worker and with two: the cost of reading, widening, encoding and handing over, without the disk.
// Two workers on two idle processors should take at most 1/1.9 of the time of one.
func BenchmarkEncode(b *testing.B) {
	dir := b.TempDir()
	blocks, other := gaussian(b, dir, true), gaussian(b, dir, false)
	for _, c := range []struct {
		name, path string
		sink       convert.Sink
		quantize   convert.Quantizer
	}{
		{"Q8_0", blocks, convert.GGUF{}, pure("q8_0")},
		{"Q4_0", blocks, convert.GGUF{}, pure("q4_0")},
		{"Q4_K", blocks, convert.GGUF{}, pure("q4_k_m")},
		{"Q6_K", blocks, convert.GGUF{}, pure("q6_k")},
		{"IQ4_XS", blocks, convert.GGUF{}, pure("iq4_xs")},
		{"FP8 blocks", other, nil, converttest.To(b, "fp8")},
		{"FP8 rows", other, nil, converttest.To(b, "fp8_dynamic")},
		{"INT8 rows", other, nil, converttest.To(b, "w8a8")},
		{"MXFP4", other, nil, converttest.To(b, "mxfp4")},
		{"MLX 4", other, nil, converttest.To(b, "mlx_4")},
		{"NF4", other, nil, bnb.Layout{Type: bnb.NF4}},
		{"NF4, measured", other, nil, bnb.Layout{Type: bnb.NF4, Measure: true}},
	} {
		for n := 1; n <= 2; n++ {
			b.Run(fmt.Sprintf("%s/workers=%d", c.name, n), func(b *testing.B) { encodeModel(b, c.path, c.sink, c.quantize, n) })
		}
	}
}

func encodeModel(b *testing.B, path string, sink convert.Sink, q convert.Quantizer, workers int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(workers + 2)) // as the program does
	account := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer account.Close()
	m, err := parser.Open(account, path)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	p, err := convert.NewPlan(account, m, convert.Options{Threads: workers, Sink: sink, Quantize: q})
	if err != nil {
		b.Fatal(err)
	}
	files := make([]io.WriterAt, len(p.Files))
	for i := range files {
		files[i] = &counting{}
	}
	for b.Loop() {
		if _, err := p.Stream(files...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(gaussianMatrices*gaussianRows*gaussianCols)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "Ge/s")
}

const gaussianMatrices, gaussianRows, gaussianCols = 4, 2048, 4096

// gaussian writes a model of normal numbers in BF16, as GGUF or as safetensors.
func gaussian(b *testing.B, dir string, blocks bool) string {
	name := "model.layers.%d.mlp.up_proj.weight"
	if blocks {
		name = "blk.%d.ffn_up.weight"
	}
	var infos []tensor.Info
	for i := range gaussianMatrices {
		infos = append(infos, tensor.Info{Name: fmt.Sprintf(name, i), DType: tensor.BF16, Shape: []int64{gaussianRows, gaussianCols}})
	}
	file := filepath.Join(dir, "b.gguf")
	if blocks {
		sparse(b, file, infos, []gguf.Entry{{Key: "general.architecture", Value: "llama"}, {Key: "llama.block_count", Value: uint32(gaussianMatrices)}})
	} else {
		file = benchSafetensors(b, dir, infos...)
	}
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		b.Fatal(err)
	}
	rng, rows := rand.New(rand.NewPCG(1, 2)), make([]byte, 2*256*gaussianCols)
	for i := 0; i < len(rows); i += 2 {
		binary.LittleEndian.PutUint16(rows[i:], asm.FloatToBfloat(float32(0.02*rng.NormFloat64())))
	}
	for at := end - 2*gaussianMatrices*gaussianRows*gaussianCols; at < end; at += int64(len(rows)) {
		if _, err := f.WriteAt(rows, at); err != nil {
			b.Fatal(err)
		}
	}
	return file
}

func pure(name string) convert.Quantizer {
	x, _ := mix.Find(name)
	return ggml.Quantizer{Mix: x, Options: mix.Options{Pure: true}}
}
