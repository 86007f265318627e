// Package quanttest is what tests of schemes share: models in memory, goldens, comparisons.
package quanttest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A Stored is one tensor of a test's model.
type Stored struct {
	Name  string
	DType tensor.DType
	Shape []int64 // outermost first
	Data  []byte
}

// Model lays tensors out one after the other.
func Model(config string, tensors ...Stored) *tensor.File {
	var body []byte
	f := &tensor.File{Name: "safetensors"}
	for _, s := range tensors {
		f.Infos = append(f.Infos, tensor.Info{Name: s.Name, DType: s.DType, Shape: s.Shape,
			Span: tensor.Span{Off: int64(len(body)), Len: int64(len(s.Data))}})
		body = append(body, s.Data...)
	}
	f.Source = bytes.NewReader(body)
	if config != "" {
		f.Folder = fstest.MapFS{"config.json": {Data: []byte(config)}}
	}
	return f
}

// Plan binds the tensors of a model, whose source is large.
func Plan(t *testing.T, m tensor.Model, o quant.Options) (*quant.Bound, *limits.Budget, error) {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	t.Cleanup(b.Close)
	b.Source(1 << 30)
	bound, err := quant.Plan(b, m, o)
	return bound, b, err
}

// Decoded binds a model of one weight and decodes it.
func Decoded(t *testing.T, m tensor.Model, o quant.Options) (*quant.Weight, []byte) {
	t.Helper()
	bound, b, err := Plan(t, m, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(bound.Weights) != 1 || len(bound.Plain) != 0 {
		t.Fatalf("%d weights, %d plain", len(bound.Weights), len(bound.Plain))
	}
	w := bound.Weights[0]
	dst := make([]byte, w.Size(o.Target))
	if err := quant.Decode(b, m, w, dst, o.Target); err != nil {
		t.Fatal(err)
	}
	return w, dst
}

// F32 returns the bytes of numbers.
func F32(values ...float32) []byte {
	var out []byte
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

// Words reads the header of a reference slice.
func Words(file []byte, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint32(file[4*i:]))
	}
	return out
}

// Floats reads little-endian numbers.
func Floats(p []byte) []float32 {
	out := make([]float32, len(p)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
	}
	return out
}

// Read returns a file.
func Read(t *testing.T, path string) []byte {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// SameBits compares bit for bit, NaN as NaN.
func SameBits(t *testing.T, want, got []float32) {
	t.Helper()
	bad := 0
	for i, w := range want {
		g := got[i]
		if math.Float32bits(w) != math.Float32bits(g) && !(w != w && g != g) {
			if bad++; bad < 10 {
				t.Errorf("element %d: %x (%v), want %x (%v)", i, math.Float32bits(g), g, math.Float32bits(w), w)
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d differ", bad, len(want))
	}
}

// Zeros is a tensor of zeros.
func Zeros(name string, dtype tensor.DType, shape ...int64) Stored {
	g, _ := dtype.Geometry()
	n := uint64(1)
	for _, d := range shape {
		n *= uint64(d)
	}
	size, _ := g.Size(n)
	return Stored{name, dtype, shape, make([]byte, size)}
}

// Method is a configuration of one quant_method and more.
func Method(name, more string) string {
	return `{"quantization_config":{"quant_method":"` + name + `"` + more + `}}`
}

// Words32 is I32 words of one value.
func Words32(n int, value uint32) []byte {
	var out []byte
	for range n {
		out = binary.LittleEndian.AppendUint32(out, value)
	}
	return out
}

// GPTQ is 64 inputs and 64 outputs of four bits, all codes 8, whose zero
// points are the given word.
func GPTQ(config, module string, zeros uint32) tensor.Model {
	return Model(config,
		Stored{module + ".qweight", tensor.I32, []int64{8, 64}, Words32(8*64, 0x88888888)},
		Stored{module + ".qzeros", tensor.I32, []int64{2, 8}, Words32(16, zeros)},
		Stored{module + ".scales", tensor.F16, []int64{2, 64}, bytes.Repeat([]byte{0, 0x3C}, 128)})
}

// GPTQConfig is a configuration of 4 bits in groups of 32, and more.
func GPTQConfig(method, more string) string {
	return fmt.Sprintf(`{"quantization_config":{"quant_method":"%s","bits":4,"group_size":32%s}}`, method, more)
}

// An Entry is one of metadata.
type Entry struct {
	Key   string
	Value any
}

// InRows decodes one row at a time, from no more than it needs.
func InRows(t *testing.T, m tensor.Model, weights []*quant.Weight, want map[string][]float32) {
	t.Helper()
	for _, w := range weights {
		for lo := range w.Rows() {
			var parts [][]byte
			for p, info := range w.Parts {
				span := w.Matrix().Need(p, lo, lo+1)
				part := make([]byte, span.Len)
				r, _ := m.At(info)
				if _, err := r.ReadAt(part, span.Off); err != nil && span.Len > 0 {
					t.Fatal(err)
				}
				parts = append(parts, part)
			}
			got := make([]byte, 4*w.Cols())
			w.Matrix().Decode(got, asm.F32, parts, lo, lo+1, make([]float32, w.Cols()))
			SameBits(t, want[fmt.Sprint(w.Name, w.Shape)][lo*w.Cols():(lo+1)*w.Cols()], Floats(got))
		}
	}
}

// Order puts inputs into two groups, in turns of a number of inputs.
func Order(name string, turn, n int64) Stored {
	s := Zeros(name, tensor.I32, n)
	for i := range n {
		s.Data[4*i] = byte(i / turn % 2)
	}
	return s
}

// ModelOpt is one beside the file that ModelOpt writes.
func ModelOpt(config string, tensors ...Stored) *tensor.File {
	f := Model("", tensors...)
	f.Folder = fstest.MapFS{"hf_quant_config.json": {Data: []byte(config)}}
	return f
}

// Differ finds the first byte that differs, or -1.
func Differ(a, b []byte) int {
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// A Pickled is a model whose whole numbers are metadata, as HQQ's own qmodel.pt
// has them, and the tensors of another but these.
type Pickled struct {
	tensor.Model
	Entries []Entry
}

func (p *Pickled) isCount(name string) bool {
	return slices.ContainsFunc(p.Entries, func(e Entry) bool { return e.Key == name })
}

// Len implements [tensor.Model], as do Tensors and Meta.
func (p *Pickled) Len() (n int) {
	for range p.Tensors() {
		n++
	}
	return n
}

// Tensors leaves the counts out.
func (p *Pickled) Tensors() iter.Seq[tensor.Info] {
	return func(yield func(tensor.Info) bool) {
		for i := range p.Model.Tensors() {
			if !p.isCount(i.Name) && !yield(i) {
				return
			}
		}
	}
}

// Meta has them.
func (p *Pickled) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, e := range p.Entries {
			if !yield(e.Key, e.Value) {
				return
			}
		}
	}
}

// Expert is number c of output r of expert e of stack k, if an expert has this number of outputs.
func Expert(k, e, outputs, r, c int) float32 {
	return float32(1000*(k+1) + (e*outputs+r)*32 + c)
}
