package quant_test

import (
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// pickled is a model whose whole numbers are metadata, as HQQ's own qmodel.pt
// has them, and the tensors of another but these.
type pickled struct {
	tensor.Model
	entries []entry
}

type entry struct {
	key   string
	value any
}

func (p *pickled) isCount(name string) bool {
	return slices.ContainsFunc(p.entries, func(e entry) bool { return e.key == name })
}

func (p *pickled) Len() (n int) {
	for range p.Tensors() {
		n++
	}
	return n
}

func (p *pickled) Tensors() iter.Seq[tensor.Info] {
	return func(yield func(tensor.Info) bool) {
		for i := range p.Model.Tensors() {
			if !p.isCount(i.Name) && !yield(i) {
				return
			}
		}
	}
}

func (p *pickled) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, e := range p.entries {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

func TestPropertiesOfAPickleAreReadAsThoseOfTensors(t *testing.T) {
	bits, axis := entry{"m.nbits", int64(4)}, entry{"m.axis", int64(1)}
	shape := entry{"m.shape", []any{int64(24), int64(64)}}
	for _, test := range []struct {
		name    string
		entries []entry
		want    error
	}{
		{"as the library writes them", []entry{bits, axis, shape}, nil},
		{"bits stated twice", []entry{bits, axis, shape, {"m.nbits", int64(2)}}, wire.ErrDuplicate},
		{"bits below zero", []entry{{"m.nbits", int64(-4)}, axis, shape}, wire.ErrRange},
		{"bits that are a text", []entry{{"m.nbits", "4"}, axis, shape}, wire.ErrMissing},
		{"a shape of fractions", []entry{bits, axis, {"m.shape", []any{24.0, int64(64)}}}, wire.ErrMissing},
		{"a shape of 17 dimensions", []entry{bits, axis, {"m.shape", slices.Repeat([]any{int64(1)}, 17)}}, wire.ErrUnsupported},
		{"a shape of another weight", []entry{bits, axis, {"m.shape", []any{int64(24), int64(65)}}}, wire.ErrMismatch},
		{"an empty shape", []entry{bits, axis, {"m.shape", []any{}}}, wire.ErrMismatch},
	} {
		t.Run(test.name, func(t *testing.T) {
			golden := "../testdata/quant/schemes/hqq-4-bits-axis-1"
			b := limits.Policy{}.Budget(t.Context())
			t.Cleanup(b.Close)
			m, err := parser.Open(b, filepath.Join(golden, "model.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { m.Close() })
			p := &pickled{m, test.entries}
			if test.want != nil {
				if _, _, err := plan(t, p, quant.Options{}); !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				return
			}
			_, got := decoded(t, p, quant.Options{Target: quant.F32})
			sameBits(t, floats(read(t, filepath.Join(golden, "m.weight.f32"))), floats(got))
		})
	}
}
