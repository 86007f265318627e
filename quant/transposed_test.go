package quant

import (
	"bytes"
	"path/filepath"
	"sync"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/google/go-cmp/cmp"
)

// goldens calls test with every golden model and its one weight.
func goldens(t *testing.T, o Options, test func(*testing.T, *limits.Budget, tensor.Model, *Weight)) {
	t.Helper()
	files, err := filepath.Glob("*/testdata/*/model.safetensors")
	if err != nil || len(files) < 150 {
		t.Fatalf("%d goldens, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
			defer b.Close()
			m, err := parser.Open(b, file)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			bound, err := Plan(b, m, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(bound.Weights) != 1 {
				t.Fatalf("%d weights", len(bound.Weights))
			}
			test(t, b, m, bound.Weights[0])
		})
	}
}

func TestTransposedWeightsAreTheTransposeOfTheOthers(t *testing.T) {
	transposed := 0
	goldens(t, Options{Target: F32}, func(t *testing.T, b *limits.Budget, m tensor.Model, w *Weight) {
		for _, to := range []Target{F32, BF16, F16} {
			plain := make([]byte, w.Size(to))
			if err := Decode(b, m, w, plain, to); err != nil {
				t.Fatal(err)
			}
			other := *w
			if err := scheme.Flip(&other, b); err != nil {
				return // of a form that cannot be cut by columns
			}
			transposed++
			scheme.Resize(&other, w.Rows()/w.Shape[len(w.Shape)-2]*w.Cols(), other.Shape[len(other.Shape)-1])
			want := transposeAll(plain, w.Shape, to.Size())
			got := make([]byte, w.Size(to))
			if err := Decode(b, m, &other, got, to); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, got) {
				t.Fatalf("%v differs", to)
			}
			inRanges(t, m, &other, to, want)
		}
	})
	if transposed < 3*60 {
		t.Errorf("only %d were transposed", transposed)
	}
}

// inRanges decodes rows in ranges that cross matrices, each from what it needs.
func inRanges(t *testing.T, m tensor.Model, w *Weight, to Target, want []byte) {
	t.Helper()
	size := w.Cols() * int64(to.Size())
	for _, step := range []int64{1, 7, w.Rows()} {
		for lo := int64(0); lo < w.Rows(); lo += step {
			hi := min(lo+step, w.Rows())
			var parts [][]byte
			for p, info := range w.Parts {
				span := w.Matrix().Need(p, lo, hi)
				part := make([]byte, span.Len)
				r, _ := m.At(info)
				if _, err := r.ReadAt(part, span.Off); err != nil && span.Len > 0 {
					t.Fatal(err)
				}
				parts = append(parts, part)
			}
			got := make([]byte, (hi-lo)*size)
			w.Matrix().Decode(got, to.Kind(), parts, lo, hi, make([]float32, w.Matrix().Scratch(hi-lo)))
			if !bytes.Equal(want[lo*size:hi*size], got) {
				t.Fatalf("rows %d to %d differ", lo, hi)
			}
		}
	}
}

// transposeAll turns every matrix of a stack.
func transposeAll(p []byte, shape []int64, size int) []byte {
	out := make([]byte, len(p))
	rows, cols := int(shape[len(shape)-2]), int(shape[len(shape)-1])
	for at := 0; at < len(p); at += rows * cols * size {
		for r := range rows {
			for c := range cols {
				copy(out[at+(c*rows+r)*size:][:size], p[at+(r*cols+c)*size:])
			}
		}
	}
	return out
}

func TestFoldersOfGptOssAreWrittenAsTransformersHasThem(t *testing.T) {
	goldens(t, Options{Target: F32, Folder: true}, func(t *testing.T, _ *limits.Budget, _ tensor.Model, w *Weight) {
		wantTransposed := w.Parts[0].Name == "e.gate_up_proj_blocks"
		if w.Matrix().Transposed() != wantTransposed {
			t.Errorf("transposed: %v", w.Matrix().Transposed())
		}
		if wantTransposed {
			shape := w.Parts[0].Shape
			if diff := cmp.Diff([]int64{shape[0], shape[2] * 32, shape[1]}, w.Shape); diff != "" {
				t.Error(diff)
			}
			if w.Matrix().Group() != w.Shape[1] {
				t.Errorf("groups of %d", w.Matrix().Group())
			}
		}
	})
}

func TestWeightsAreDecodedByManyAtOnce(t *testing.T) {
	goldens(t, Options{Target: BF16}, func(t *testing.T, b *limits.Budget, m tensor.Model, w *Weight) {
		want := make([]byte, w.Size(BF16))
		if err := Decode(b, m, w, want, BF16); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				got := make([]byte, len(want))
				if err := Decode(b, m, w, got, BF16); err != nil || !bytes.Equal(want, got) {
					t.Errorf("differs: %v", err)
				}
			})
		}
		all.Wait()
	})
}
