package fuzz_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// probed decodes a model under an account of its own, to which nothing stays charged, and returns what is
// said of it, or the class of the refusal.
func probed[M tensor.Model](t *testing.T, data []byte, decode func(*limits.Budget, io.ReaderAt, int64) (M, error), say func(*limits.Budget, M) string) string {
	b := limits.Policy{MaxTotalBytes: 16 << 20, MaxSteps: 1 << 20}.Budget(t.Context())
	defer b.Close()
	w := b.Probe()
	defer limitstest.NoLeak(t, b)
	defer w.Close()
	m, err := decode(w, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return classed(t, err)
	}
	return say(w, m)
}

// fuzzWeights tests that what is said of a model is the same twice, that its tensors are as long as
// they state, at an offset as in order, that their codes are decoded or refused, that a refusal has
// a class, and that nothing stays charged.
func fuzzWeights[M tensor.Model](t *testing.T, data []byte, decode func(*limits.Budget, io.ReaderAt, int64) (M, error)) {
	read := func() string {
		return probed(t, data, decode, func(w *limits.Budget, m M) string {
			for i := range m.Tensors() {
				r, ok := m.At(i)
				if !ok || i.Span.Len == 0 {
					continue
				}
				var one [1]byte
				if n, err := r.ReadAt(one[:], 0); n != 1 || one[0] != data[i.Span.Off] {
					t.Errorf("%s begins with %#x, %v, and the file has %#x there", i.Name, one, err, data[i.Span.Off])
				}
			}
			numbers := 0
			plan, err := quant.Plan(w, m, quant.Options{Target: quant.F32})
			if err != nil {
				return fmt.Sprint(classed(t, err), bodiesOf(t, w, m))
			}
			for _, weight := range plan.Weights {
				size := weight.Size(quant.F32)
				if size > 1<<20 {
					continue
				}
				if err := quant.Decode(w, m, weight, make([]byte, size), quant.F32); err != nil {
					t.Errorf("%s: %v", weight.Name, err)
				}
				numbers++
			}
			return fmt.Sprint(numbers, bodiesOf(t, w, m))
		})
	}
	if first, again := read(), read(); first != again {
		t.Fatalf("%s, then %s", first, again)
	}
}
