package fuzz_test

import (
	"bytes"
	"io"
	"reflect"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/onnx"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

type onnxModel struct{ *onnx.Model }

func (onnxModel) Verify(*limits.Budget) error { return nil }
func (onnxModel) Close() error                { return nil }
func (m onnxModel) findings() []string        { return codes(m.Findings) }

func openONNX(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	m, err := onnx.Check(b, r, size)
	if err != nil {
		return nil, err
	}
	return onnxModel{m}, nil
}

// FuzzONNX tests that the verdict on a model is the same twice, a refusal has a class, and
// nothing stays charged.
func FuzzONNX(f *testing.F) {
	addSeeds(f, "onnx")
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func() (*onnx.Model, error) {
			b := limits.Policy{MaxTotalBytes: 16 << 20, MaxSteps: 1 << 20}.Budget(t.Context())
			defer b.Close()
			w := b.Probe()
			m, err := onnx.Check(w, bytes.NewReader(data), int64(len(data)))
			w.Close()
			limitstest.NoLeak(t, b)
			if c := wire.ClassOf(err); err != nil && (c == wire.Internal || c == wire.OK) {
				t.Fatalf("%v: %v", c, err)
			}
			return m, err
		}
		m, err := read()
		if again, err2 := read(); !reflect.DeepEqual(m, again) || (err == nil) != (err2 == nil) {
			t.Fatalf("%v, then %v", err, err2)
		}
		if err == nil && (m.Tensors < 0 || m.Bytes < 0 || m.Elements < 0) {
			t.Errorf("%+v", m)
		}
	})
}
