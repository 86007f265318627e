package fuzz_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// sinks are all formats that a stream can write.
var sinks = []convert.Sink{convert.Safetensors{}, convert.NPZ{}, convert.GGUF{RawNames: true}, convert.GGUF{}}

// FuzzStream converts any bytes as a model. The result must be a file of its format, the
// same for any number of workers and any tiles. A tighter account must give the same
// result or a limit error.
func FuzzStream(f *testing.F) {
	seeds := sampled{f, new(int)}
	for i, format := range corpus.Formats() {
		for _, s := range corpus.Valid(format) {
			seeds.Add(s.Data, uint8(i))
		}
		for _, r := range corpus.Hostile(format) {
			if p := r.Bytes(); len(p) < 64<<10 {
				seeds.Add(p, uint8(i))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, how uint8) {
		sink, to := sinks[how%4], quant.Target(how/4%3)
		o := convert.Options{Sink: sink, Quant: quant.Options{Target: to}, AsIs: how&64 != 0}
		var same agreement
		for _, shape := range [...]struct{ threads, tile int }{{1, 0}, {4, 128}, {3, 1000}} {
			o.Threads, o.Tile = shape.threads, shape.tile
			sum, err := converted(data, o)
			if err := fuzz.Placed(err, int64(len(data))); err != nil {
				t.Fatal(err)
			}
			same.hold(t, shape, sum, err)
		}
		streamTarget(o).Check(t, data)
	})
}

// streamTarget returns one conversion as a target.
func streamTarget(o convert.Options) fuzz.Target {
	o.Threads = 1 // what several allocate is a matter of their order
	return fuzz.Target{
		Read: func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
			sum, err := stream(b, r, size, o, true)
			return fuzz.Text(sum), err
		},
		Measured: func(b *limits.Budget, r io.ReaderAt, size int64) error {
			_, err := stream(b, r, size, o, false)
			return err
		},
	}
}

func converted(data []byte, o convert.Options) (string, error) {
	b := fuzz.Ceilings.Budget(context.Background())
	defer b.Close()
	return stream(b, bytes.NewReader(data), int64(len(data)), o, true)
}

// stream converts and reads what was written.
func stream(b *limits.Budget, r io.ReaderAt, size int64, o convert.Options, look bool) (string, error) {
	m, err := parser.Decode(b, r, size)
	if err != nil {
		return "", err
	}
	defer m.Close()
	p, err := convert.NewPlan(b, m, o)
	if err != nil {
		return "", err
	}
	if !look {
		return unread(p)
	}
	data, answer, err := writtenOut(p)
	if data == nil {
		return answer, err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// isWritten says why the written file differs from its plan, or returns "".
func isWritten(data []byte, p *convert.Plan) string {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err.Error()
	}
	if err := parser.Verify(b, m); err != nil {
		return err.Error()
	}
	if m.Len() != len(p.Outs) {
		return fmt.Sprintf("%d tensors of %d", m.Len(), len(p.Outs))
	}
	byName := map[string]tensor.Info{}
	for i := range m.Tensors() {
		byName[i.Name] = i
	}
	for _, o := range p.Outs {
		i, ok := byName[o.Name]
		if !ok || i.DType != o.DType || !slices.Equal(i.Shape, o.Shape) || i.Span.Len != o.Size {
			return fmt.Sprintf("%q is %v %v of %d bytes, planned as %v %v of %d", o.Name, i.DType, i.Shape, i.Span.Len, o.DType, o.Shape, o.Size)
		}
	}
	return ""
}

// An inMemory is a file of known size in memory.
type inMemory struct {
	sync.Mutex
	p []byte
}

func (f *inMemory) WriteAt(p []byte, off int64) (int, error) {
	f.Lock()
	defer f.Unlock()
	return copy(f.p[off:], p), nil
}

// A nowhere discards everything.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// everywhere are the types that all sinks store.
var everywhere = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16, tensor.F64, tensor.I8, tensor.I16, tensor.I32, tensor.I64}

// FuzzMatrix converts a small model of random tensors through random formats and back.
// Only the container may change.
func FuzzMatrix(f *testing.F) {
	f.Add([]byte{3, 0, 2, 1, 2, 3, 7, 1, 9}, []byte{0, 1, 2, 1, 0, 2, 2})
	f.Add([]byte{}, []byte{1})
	f.Add([]byte{5, 7, 4, 1, 1, 1, 1, 3, 0, 2, 1, 4, 2, 2, 6, 3, 0, 5, 5}, []byte{2, 0, 1})
	f.Fuzz(func(t *testing.T, model, way []byte) {
		data := smallModel(t, model)
		want := contents(t, data)
		for i, w := range way[:min(len(way), 12)] {
			b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
			m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			p, err := convert.NewPlan(b, m, convert.Options{Sink: sinks[w%3], Threads: 1 + int(w)/3%3, Tile: int(w)})
			if err != nil {
				t.Fatalf("step %d, to %s: %v", i, sinks[w%3].Name(), err)
			}
			out := &inMemory{p: make([]byte, p.Size)}
			if _, err := p.Stream(out); err != nil {
				t.Fatalf("step %d, to %s: %v", i, sinks[w%3].Name(), err)
			}
			b.Close()
			data = out.p
			if got := contents(t, data); !slices.Equal(got, want) {
				t.Fatalf("after %v: %q, before %q", way[:i+1], got, want)
			}
		}
	})
}

// smallModel builds a safetensors file: for each tensor a type, a number of dimensions,
// and each dimension.
func smallModel(t *testing.T, p []byte) []byte {
	next := (*script)(&p).next
	var infos []tensor.Info
	total := 0
	for n := next() % 9; n > 0; n-- {
		i := tensor.Info{Name: fmt.Sprintf("t%d.weight", n), DType: everywhere[next()%len(everywhere)]}
		for d := next() % 5; d > 0; d-- {
			i.Shape = append(i.Shape, int64(next()%6))
		}
		total += int(i.Bytes())
		infos = append(infos, i)
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	plan, err := safetensors.Layout(b, infos, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := append([]byte(nil), plan.Header...)
	for i := range total {
		out = append(out, byte(i*131>>3)^byte(i))
	}
	return out
}

// contents describes every tensor of a file, by name.
func contents(t *testing.T, data []byte) []string {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range m.Tensors() {
		body, err := m.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %v %v %x", i.Name, i.DType, i.Shape, p))
	}
	slices.Sort(out)
	return out
}
