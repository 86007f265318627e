package converttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Quantized quantizes a model, one that is quantized already too, and returns the file and its
// plan.
func Quantized(t testing.TB, m tensor.Model, q convert.Quantizer, threads, tile int) ([]byte, *convert.Plan, error) {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	t.Cleanup(b.Close)
	b.Source(1 << 30)
	p, err := convert.NewPlan(b, m, convert.Options{Quantize: q, Requantize: true, Threads: threads, Tile: tile})
	if err != nil {
		return nil, nil, err
	}
	out := NewMemory(p.Size)
	_, err = p.Stream(out)
	return out.Bytes, p, err
}

// Memory is a file in memory, as large as a plan says.
type Memory struct {
	Bytes []byte
}

// NewMemory returns a file of size bytes.
func NewMemory(size int64) *Memory { return &Memory{make([]byte, size)} }

// WriteAt copies p. It takes no lock: workers write parts that do not overlap.
func (m *Memory) WriteAt(p []byte, off int64) (int, error) { return copy(m.Bytes[off:], p), nil }

// Run converts to one file and returns its bytes.
func Run(t *testing.T, b *limits.Budget, m tensor.Model, o convert.Options) []byte {
	t.Helper()
	p, err := convert.NewPlan(b, m, o)
	if err != nil {
		t.Fatal(err)
	}
	out := NewMemory(p.Size)
	if _, err := p.Stream(out); err != nil {
		t.Fatal(err)
	}
	if done, size := p.Progress(); done > size || size != p.Size {
		t.Errorf("progress says %d of %d", done, size)
	}
	return out.Bytes
}

// Folder writes a model with its config.json and opens it again.
func Folder(t *testing.T, b *limits.Budget, m tensor.Model, o convert.Options) tensor.Model {
	t.Helper()
	p, err := convert.NewPlan(b, m, o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/out"
	if _, err := p.WriteFolder(dir, false, false); err != nil {
		t.Fatal(err)
	}
	f, err := parser.Open(b, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// To returns the quantizer that writes a target of codes and scales.
func To(t testing.TB, name string, choices ...convert.Choices) convert.Quantizer {
	t.Helper()
	to, ok := quant.TargetNamed(name)
	if !ok || to.Layout() == "" {
		t.Fatalf("no format is called %q", name)
	}
	if len(choices) == 0 {
		return to.Quantizer(convert.Choices{})
	}
	return to.Quantizer(choices[0])
}

// Measuring asks a quantizer for what is lost.
var Measuring = convert.Choices{Measure: true}

// Stored returns the type, shape and bytes of each tensor, read in order.
func Stored(t *testing.T, b *limits.Budget, m tensor.Model) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i := range m.Tensors() {
		body, err := m.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(body)
		if err := errors.Join(err, body.Close()); err != nil {
			t.Fatal(err)
		}
		shape, _ := json.Marshal(i.Shape)
		out[i.Name] = i.DType.String() + string(shape) + string(p)
	}
	return out
}

// Store quantizes a model in memory and reads it back.
func Store(t *testing.T, b *limits.Budget, m tensor.Model, q convert.Quantizer, threads, tile int) (tensor.Model, *convert.Plan, error) {
	t.Helper()
	p, err := convert.NewPlan(b, m, convert.Options{Quantize: q, Threads: threads, Tile: tile})
	if err != nil {
		return nil, nil, err
	}
	out := NewMemory(p.Size)
	if _, err := p.Stream(out); err != nil {
		return nil, nil, err
	}
	got, err := safetensors.Decode(b, bytes.NewReader(out.Bytes), int64(len(out.Bytes)))
	return got, p, err
}

// Bodies returns the type and bytes of each tensor, read at its offset.
func Bodies(t *testing.T, m tensor.Model) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i := range m.Tensors() {
		r, ok := m.At(i)
		p := make([]byte, i.Span.Len)
		if _, err := r.ReadAt(p, 0); err != nil || !ok {
			t.Fatal(i.Name, err)
		}
		out[i.Name] = i.TypeName() + string(p)
	}
	return out
}
