package bnb_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// A golden is a file of quant/bnb/testdata/encode: numbers, with bitsandbytes' encoding of them.
type golden struct {
	name  string
	infos map[string]tensor.Info
	data  map[string][]byte
}

func encodeGoldens(t testing.TB, pattern string) []golden {
	t.Helper()
	files, err := filepath.Glob("testdata/encode/" + pattern + ".safetensors")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens %s: %v", pattern, err)
	}
	var out []golden
	for _, file := range files {
		b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
		m, err := parser.Open(b, file)
		if err != nil {
			t.Fatal(err)
		}
		g := golden{strings.TrimSuffix(filepath.Base(file), ".safetensors"), map[string]tensor.Info{}, map[string][]byte{}}
		for i := range m.Tensors() {
			r, _ := m.At(i)
			p := make([]byte, i.Span.Len)
			if _, err := r.ReadAt(p, 0); err != nil && len(p) > 0 {
				t.Fatal(err)
			}
			g.infos[i.Name], g.data[i.Name] = i, p
		}
		m.Close()
		b.Close()
		out = append(out, g)
	}
	return out
}

// state reads back what quant_state says, by binding the weight.
func (g golden) state(t *testing.T) bnb.State {
	t.Helper()
	s := bnb.State{DType: "float32", Shape: g.infos["input"].Shape}
	_, s.FP4 = g.data["w.quant_state.bitsandbytes__fp4"]
	_, s.Nested = g.data["w.nested_absmax"]
	text := string(g.data["w"+s.Key()])
	if _, err := fmt.Sscanf(text[strings.Index(text, `"blocksize"`):], `"blocksize": %d`, &s.Block); err != nil {
		t.Fatal(err)
	}
	return s
}

// A tiled encoder takes tiles of the given number of blocks.
func encode4(t *testing.T, s *bnb.State, src []float32, blocks int) (codes []byte, scales []float32) {
	t.Helper()
	codes, scales = make([]byte, (len(src)+1)/2), make([]float32, s.Blocks(int64(len(src))))
	again := make([]float32, len(scales))
	for at := 0; at < len(src); at += blocks * s.Block {
		end := min(at+blocks*s.Block, len(src))
		if err := s.Encode(codes[at/2:(end+1)/2], scales[at/s.Block:], src[at:end]); err != nil {
			t.Fatal(err)
		}
		if err := s.Absmax(again[at/s.Block:], src[at:end]); err != nil {
			t.Fatal(err)
		}
	}
	quanttest.SameBits(t, scales, again)
	return codes, scales
}

func TestFourBitCodesAreThoseOfBitsandbytes(t *testing.T) {
	for _, g := range append(encodeGoldens(t, "[nf]*4-*"), encodeGoldens(t, "nested-*")...) {
		t.Run(g.name, func(t *testing.T) {
			s := g.state(t)
			src := quanttest.Floats(g.data["input"])
			for _, blocks := range []int{1, 3, 1000} {
				codes, scales := encode4(t, &s, src, blocks)
				if at := quanttest.Differ(codes, g.data["w"]); at >= 0 {
					x := src[min(2*at, len(src)-1)]
					t.Fatalf("code %d: %x, want %x (%v of %v)", at, codes[at], g.data["w"][at], x, scales[2*at/s.Block])
				}
				if !s.Nested {
					quanttest.SameBits(t, quanttest.Floats(g.data["w.absmax"]), scales)
					continue
				}
				mean := bnb.NewMean(int64(len(scales)))
				mean.Add(scales)
				s.Mean = mean.Value()
				nestedAgrees(t, g, scales, s.Mean, blocks)
			}
			if got, want := string(s.Append(nil)), string(g.data["w"+s.Key()]); got != want {
				t.Errorf("state %s, want %s", got, want)
			}
			codebook := s.Codebook()
			quanttest.SameBits(t, quanttest.Floats(g.data["w.quant_map"]), codebook[:])
		})
	}
}

func nestedAgrees(t *testing.T, g golden, scales []float32, mean float32, blocks int) {
	t.Helper()
	codes := make([]byte, len(scales))
	nested := make([]float32, (len(scales)+bnb.NestedBlock-1)/bnb.NestedBlock)
	for at := 0; at < len(scales); at += blocks * bnb.NestedBlock {
		end := min(at+blocks*bnb.NestedBlock, len(scales))
		bnb.EncodeNested(codes[at:end], nested[at/bnb.NestedBlock:], scales[at:end], mean)
	}
	if at := quanttest.Differ(codes, g.data["w.absmax"]); at >= 0 {
		t.Fatalf("scale %d: code %d, want %d", at, codes[at], g.data["w.absmax"][at])
	}
	quanttest.SameBits(t, quanttest.Floats(g.data["w.nested_absmax"]), nested)
	quanttest.SameBits(t, quanttest.Floats(g.data["w.nested_quant_map"]), bnb.NestedCodebook())
}

func TestEightBitCodesAreThoseOfBitsandbytes(t *testing.T) {
	for _, g := range encodeGoldens(t, "int8-*") {
		t.Run(g.name, func(t *testing.T) {
			src, shape := quanttest.Floats(g.data["input"]), g.infos["input"].Shape
			rows, cols := int(shape[0]), int(shape[1])
			for _, step := range []int{1, 2, rows} {
				codes, scales := make([]byte, len(src)), make([]float32, rows)
				for r := 0; r < rows; r += step {
					end := min(r+step, rows)
					if err := bnb.EncodeInt8(codes[r*cols:end*cols], scales[r:end], src[r*cols:end*cols], cols); err != nil {
						t.Fatal(err)
					}
				}
				if at := quanttest.Differ(codes, g.data["w"]); at >= 0 {
					t.Fatalf("code %d: %d, want %d", at, int8(codes[at]), int8(g.data["w"][at]))
				}
				quanttest.SameBits(t, quanttest.Floats(g.data["SCB"]), scales)
			}
		})
	}
}

func TestAMeanIsComputedLikeTorch(t *testing.T) {
	g := encodeGoldens(t, "mean")[0]
	numbers, want := quanttest.Floats(g.data["input"]), quanttest.Floats(g.data["mean"])
	for i, w := range want {
		n := int64(0)
		for k := range 8 {
			n |= int64(g.data["count"][8*i+k]) << (8 * k)
		}
		for _, step := range []int64{1, 7, n} {
			m := bnb.NewMean(n)
			for at := int64(0); at < n; at += step {
				m.Add(numbers[at:min(at+step, n)])
			}
			if got := m.Value(); math.Float32bits(got) != math.Float32bits(w) {
				t.Errorf("mean of %d, %d at a time: %v, want %v", n, step, got, w)
			}
		}
	}
}

// bitsandbytes spoils the block; here nothing is written in its place.
func TestNumbersThatAreNotFiniteAreRefused(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		src := make([]float32, 128)
		src[70] = float32(x)
		q := bnb.Quantizer{Block: 64}
		codes, scales := make([]byte, 128), make([]float32, 2)
		for name, err := range map[string]error{
			"four bits":  q.Encode(codes, scales, src),
			"the scales": q.Absmax(scales, src),
			"eight bits": bnb.EncodeInt8(codes, scales, src, 64),
		} {
			bad, ok := errors.AsType[*bnb.NotFinite](err)
			if !ok || bad.Index != 70 || wire.ClassOf(err) != wire.Unsupported {
				t.Errorf("%s of %v: %v", name, x, err)
			}
		}
	}
}

func TestBlockSizesAreThoseOfBitsandbytes(t *testing.T) {
	for _, n := range []int{-64, 0, 1, 16, 33, 48, 63, 65, 8192, 1 << 30} {
		if err := (bnb.Quantizer{Block: n}).Check(); wire.ClassOf(err) != wire.Usage {
			t.Errorf("%d: %v", n, err)
		}
	}
	for n := 32; n <= 4096; n *= 2 {
		if err := (bnb.Quantizer{Block: n}).Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestEncodersAllocateNothing(t *testing.T) {
	src := make([]float32, 4096)
	for i := range src {
		src[i] = float32(i%97) - 48
	}
	codes, scales := make([]byte, 4096), make([]float32, 64)
	nested, small := make([]float32, 1), make([]byte, 64)
	q := bnb.Quantizer{Block: 64}
	n := testing.AllocsPerRun(10, func() {
		if q.Encode(codes, scales, src) != nil || bnb.EncodeInt8(codes, scales, src, 64) != nil {
			t.Fatal("refused")
		}
		bnb.EncodeNested(small, nested, scales, 3)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
