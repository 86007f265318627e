package hqq_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
)

func TestPropertiesOfAPickleAreReadAsThoseOfTensors(t *testing.T) {
	bits, axis := quanttest.Entry{Key: "m.nbits", Value: int64(4)}, quanttest.Entry{Key: "m.axis", Value: int64(1)}
	shape := quanttest.Entry{Key: "m.shape", Value: []any{int64(24), int64(64)}}
	for _, test := range []struct {
		name    string
		entries []quanttest.Entry
		want    error
	}{
		{"as the library writes them", []quanttest.Entry{bits, axis, shape}, nil},
		{"bits stated twice", []quanttest.Entry{bits, axis, shape, {Key: "m.nbits", Value: int64(2)}}, wire.ErrDuplicate},
		{"bits below zero", []quanttest.Entry{{Key: "m.nbits", Value: int64(-4)}, axis, shape}, wire.ErrRange},
		{"bits that are a text", []quanttest.Entry{{Key: "m.nbits", Value: "4"}, axis, shape}, wire.ErrMissing},
		{"a shape of fractions", []quanttest.Entry{bits, axis, {Key: "m.shape", Value: []any{24.0, int64(64)}}}, wire.ErrMissing},
		{"a shape of 17 dimensions", []quanttest.Entry{bits, axis, {Key: "m.shape", Value: slices.Repeat([]any{int64(1)}, 17)}}, wire.ErrUnsupported},
		{"a shape of another weight", []quanttest.Entry{bits, axis, {Key: "m.shape", Value: []any{int64(24), int64(65)}}}, wire.ErrMismatch},
		{"an empty shape", []quanttest.Entry{bits, axis, {Key: "m.shape", Value: []any{}}}, wire.ErrMismatch},
	} {
		t.Run(test.name, func(t *testing.T) {
			golden := "testdata/hqq-4-bits-axis-1"
			b := limits.Policy{}.Budget(t.Context())
			t.Cleanup(b.Close)
			m, err := parser.Open(b, filepath.Join(golden, "model.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { m.Close() })
			p := &quanttest.Pickled{Model: m, Entries: test.entries}
			if test.want != nil {
				if _, _, err := quanttest.Plan(t, p, quant.Options{}); !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				return
			}
			_, got := quanttest.Decoded(t, p, quant.Options{Target: quant.F32})
			quanttest.SameBits(t, quanttest.Floats(quanttest.Read(t, filepath.Join(golden, "m.weight.f32"))), quanttest.Floats(got))
		})
	}
}
