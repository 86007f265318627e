package convert_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// sources are files of every format and every way to hold a model.
func sources(t *testing.T) []string {
	t.Helper()
	list := []string{"../testdata/demo/sharded", "../testdata/demo/split", llama}
	for _, pattern := range []string{"safetensors/*.safetensors", "gguf/*.gguf", "npy/*.npy", "npz/*.npz", "pth/*.pt", "pth/*.pth", "pth/*.bin"} {
		files, err := filepath.Glob("../corpus/valid/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, files...)
	}
	demo, err := filepath.Glob("../testdata/demo/*.*")
	if err != nil || len(demo) == 0 {
		t.Fatal(err)
	}
	return append(list, demo...)
}

// Every source goes to every sink. A refusal has a class; an output has the tensors of the source,
// compared element by element, and the weights that package quant decodes.
func TestEverySourceGoesToEverySink(t *testing.T) {
	pairs := map[string]int{}
	for _, path := range sources(t) {
		b := converttest.Account(t)
		m, err := parser.Open(b, path)
		if err != nil {
			continue // a script beside the model, a file under a quirk
		}
		for _, sink := range []convert.Sink{convert.Safetensors{}, convert.NPZ{}, convert.GGUF{RawNames: true}} {
			pair := m.Format() + " to " + sink.Name()
			for _, to := range []quant.Target{quant.BF16, quant.F16, quant.F32} {
				o := convert.Options{Sink: sink, Quant: quant.Options{Target: to}, Tile: 256, Threads: 2}
				p, err := convert.NewPlan(b, m, o)
				if err != nil {
					if c := parser.ClassOf(err); c != parser.Unsupported && c != parser.Malformed {
						t.Errorf("%s, %s: %v", path, pair, err)
					}
					continue
				}
				out := converttest.NewMemory(p.Size)
				if _, err := p.Stream(out); err != nil {
					t.Errorf("%s, %s: %v", path, pair, err)
					continue
				}
				if why := compareTo(t, b, m, p, out.Bytes, to); why != "" {
					t.Errorf("%s, %s, %v: %s", path, pair, to, why)
				}
				pairs[pair]++
			}
		}
		m.Close()
	}
	for _, from := range []string{"safetensors", "gguf", "npy", "npz", "pth"} {
		for _, to := range []string{"safetensors", "npz", "gguf"} {
			if pairs[from+" to "+to] < 3 {
				t.Errorf("%s to %s: written %d times", from, to, pairs[from+" to "+to])
			}
		}
	}
	t.Log(pairs)
}

// compareTo says how what was written differs from the source.
func compareTo(t *testing.T, b *limits.Budget, m tensor.Model, p *convert.Plan, data []byte, to quant.Target) string {
	got, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err.Error()
	}
	if err := parser.Verify(b, got); err != nil {
		return err.Error()
	}
	if got.Len() != len(p.Outs) {
		return fmt.Sprintf("%d tensors, planned %d", got.Len(), len(p.Outs))
	}
	weights := map[string]*quant.Weight{}
	for _, w := range p.Weights {
		weights[w.Name] = w
	}
	stored := map[string]tensor.Info{}
	for i := range m.Tensors() {
		stored[i.Name] = i
	}
	for i := range got.Tensors() {
		var want []byte
		if w, ok := weights[i.Name]; ok {
			want = make([]byte, w.Size(to))
			if err := quant.Decode(b, m, w, want, to); err != nil {
				return err.Error()
			}
		} else if want, err = elements(b, m, stored[i.Name]); err != nil {
			return err.Error()
		}
		have, err := elements(b, got, i)
		if err != nil {
			return err.Error()
		}
		if !bytes.Equal(have, want) {
			return fmt.Sprintf("%q has other bytes", i.Name)
		}
	}
	return ""
}

// elements reads a tensor row-major and little-endian, one element at a time.
func elements(b *limits.Budget, m tensor.Model, i tensor.Info) ([]byte, error) {
	body, err := m.Body(b, i)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	p, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	g, _ := i.DType.Geometry()
	size := int64(g.Bytes)
	if i.Strides != nil {
		var out []byte
		index := make([]int64, len(i.Shape))
		for range i.Elements() {
			at := i.Offset
			for d := range index {
				at += index[d] * i.Strides[d]
			}
			out = append(out, p[at*size:(at+1)*size]...)
			for d := len(index) - 1; d >= 0; d-- {
				if index[d]++; index[d] < i.Shape[d] {
					break
				}
				index[d] = 0
			}
		}
		p = out
	}
	if i.Order == tensor.Big {
		if strings.HasPrefix(i.DType.String(), "C") {
			size /= 2
		}
		for at := int64(0); at < int64(len(p)); at += size {
			slices.Reverse(p[at : at+size])
		}
	}
	return p, nil
}

// Views of every kind are written as torch would make them contiguous: the
// strides that choose between ways of reading are all here.
func TestViewsAreReadByEveryWay(t *testing.T) {
	for _, c := range []struct {
		name           string
		shape, strides []int64
		offset         int64
	}{
		{"transposed", []int64{300, 200}, []int64{1, 300}, 0},
		{"a large one, in strips", []int64{8192, 4100}, []int64{1, 8192}, 0},
		{"stacked and transposed", []int64{3, 50, 40}, []int64{2000, 1, 50}, 7},
		{"columns", []int64{500, 30}, []int64{4000, 1}, 11},
		{"wide columns", []int64{40, 1000}, []int64{5000, 1}, 0},
		{"every third", []int64{100, 7}, []int64{21, 3}, 2},
		{"expanded", []int64{20, 30}, []int64{0, 1}, 5},
		{"expanded inside", []int64{20, 30}, []int64{1, 0}, 0},
		{"one element", []int64{1, 1}, []int64{9, 9}, 3},
		{"dimensions of one", []int64{1, 600, 1, 2}, []int64{5, 1, 7, 600}, 0},
		{"nothing", []int64{4, 0}, []int64{1, 4}, 0},
		{"overlapping", []int64{50, 50}, []int64{1, 1}, 0},
	} {
		for _, d := range []tensor.DType{tensor.I8, tensor.F16, tensor.F32, tensor.C64} {
			g, _ := d.Geometry()
			last := c.offset
			for k, n := range c.shape {
				last += max(0, n-1) * c.strides[k]
			}
			data := make([]byte, (last+1)*int64(g.Bytes))
			rand.NewChaCha8([32]byte{}).Read(data)
			m := &tensor.File{Name: "test", Source: bytes.NewReader(data), Infos: []tensor.Info{{
				Name: "v", DType: d, Shape: c.shape, Strides: c.strides, Offset: c.offset, Storage: "s",
				Span: tensor.Span{Len: int64(len(data))},
			}}}
			if d == tensor.F32 {
				m.Infos[0].Order = tensor.Big
			}
			if len(data) > 64<<20 && d != tensor.F16 || len(data) > 16<<20 && !effort.Whole() {
				continue // TestLargeMatricesAreReadInStrips reads one in any run
			}
			b := limits.Policy{MaxTotalBytes: 1 << 32, MaxSingleAlloc: 1 << 30, Timeout: limits.NoTimeout}.Budget(t.Context())
			want, err := elements(b, m, m.Infos[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, tile := range []int{1, 4096, 0} {
				if tile != 0 && len(want) > 1<<20 || tile == 1 && len(want) > 4_000 && testing.Short() {
					continue
				}
				p, err := convert.NewPlan(b, m, convert.Options{Threads: 3, Tile: tile})
				if err != nil {
					t.Fatal(err)
				}
				out := converttest.NewMemory(p.Size)
				if _, err := p.Stream(out); err != nil {
					t.Fatalf("%s of %v: %v", c.name, d, err)
				}
				if !bytes.HasSuffix(out.Bytes, want) {
					t.Errorf("%s of %v, tiles of %d: other elements", c.name, d, tile)
				}
			}
			b.Close()
		}
	}
}
