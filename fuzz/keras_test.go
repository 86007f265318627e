package fuzz_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser/keras"
)

// FuzzKeras tests that what is said of an archive is the same twice, that its weights are as long
// as they state, at an offset as in order, and lie in the archive, that a refusal has a class,
// and that nothing stays charged.
func FuzzKeras(f *testing.F) {
	addSeeds(f, "keras")
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func() string {
			b := limits.Policy{MaxTotalBytes: 16 << 20, MaxSteps: 1 << 20}.Budget(t.Context())
			defer b.Close()
			w := b.Probe()
			defer limitstest.NoLeak(t, b)
			defer w.Close()
			m, err := keras.Decode(w, bytes.NewReader(data), int64(len(data)))
			if err != nil {
				return classed(t, err)
			}
			for i := range m.Tensors() {
				if i.Span.Off < 0 || i.Span.Off > int64(len(data)) {
					t.Errorf("%s is at %#x of %#x bytes", i.Name, i.Span.Off, len(data))
				}
				if r, ok := m.At(i); ok && i.Span.Len > 0 {
					var one [1]byte
					if n, err := r.ReadAt(one[:], 0); n != 1 || one[0] != data[i.Span.Off] {
						t.Errorf("%s begins with %#x, %v, and the archive has %#x there", i.Name, one, err, data[i.Span.Off])
					}
				}
			}
			verified := "whole"
			if err := m.Verify(w); err != nil {
				verified = classed(t, err)
			}
			return fmt.Sprint(verified, bodiesOf(t, w, m))
		}
		if first, again := read(), read(); first != again {
			t.Fatalf("%s, then %s", first, again)
		}
	})
}
