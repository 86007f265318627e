package quant_test

import (
	"bytes"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// The goldens are files as their libraries write them, and the numbers that
// the libraries decode: crosscheck/quant/golden.py.
func TestSchemesDecodeAsTheirLibrariesDo(t *testing.T) {
	folders, err := filepath.Glob("*/testdata/*/oracle.txt")
	if err != nil || len(folders) < 150 {
		t.Fatalf("%d goldens, %v", len(folders), err)
	}
	for _, oracle := range folders {
		dir := filepath.Dir(oracle)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
			defer b.Close()
			files, _ := filepath.Glob(filepath.Join(dir, "model.*"))
			if len(files) != 1 {
				t.Fatalf("%v", files)
			}
			m, err := parser.Open(b, files[0])
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if !quant.Any(m) {
				t.Error("no weight is seen")
			}
			o := quant.Options{Target: quant.F32}
			if lines := strings.Split(string(quanttest.Read(t, oracle)), "\n"); len(lines) > 3 {
				o.As = strings.TrimPrefix(lines[2], "as ")
			}
			bound, err := quant.Plan(b, m, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(bound.Weights) != 1 || slices.ContainsFunc(bound.Plain, func(i tensor.Info) bool { return i.DType != tensor.I64 }) { // indices of a graph
				t.Fatalf("%d weights, plain %v", len(bound.Weights), bound.Plain)
			}
			w := bound.Weights[0]
			got := make([]byte, w.Size(quant.F32))
			if err := quant.Decode(b, m, w, got, quant.F32); err != nil {
				t.Fatal(err)
			}
			want := quanttest.Floats(quanttest.Read(t, filepath.Join(dir, w.Name+".f32")))
			tilesAgree(t, b, m, w, got)
			targetsAgree(t, b, m, w, got)
			quanttest.SameBits(t, want, quanttest.Floats(got))
		})
	}
}

// targetsAgree decodes to the narrow types, by other kernels, and compares with
// the numbers rounded.
func targetsAgree(t *testing.T, b *limits.Budget, m tensor.Model, w *quant.Weight, whole []byte) {
	t.Helper()
	for _, to := range []quant.Target{quant.BF16, quant.F16} {
		got, want := make([]byte, w.Size(to)), make([]byte, w.Size(to))
		if err := quant.Decode(b, m, w, got, to); err != nil {
			t.Fatal(err)
		}
		to.Put(want, quanttest.Floats(whole))
		if !bytes.Equal(want, got) {
			t.Errorf("%v is not the numbers rounded", to)
		}
	}
}

// bodyOf reads a tensor. Codes of fewer than eight bits have no random access.
func bodyOf(t *testing.T, b *limits.Budget, m tensor.Model, info tensor.Info) []byte {
	t.Helper()
	r, err := m.Body(b, info)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tilesAgree decodes the weight one row and three rows at a time, each from
// just the bytes that it needs.
func tilesAgree(t *testing.T, b *limits.Budget, m tensor.Model, w *quant.Weight, whole []byte) {
	t.Helper()
	for _, step := range []int64{1, 3} {
		for lo := int64(0); lo < w.Rows(); lo += step {
			hi := min(lo+step, w.Rows())
			var parts [][]byte
			for p, info := range w.Parts {
				span := w.Matrix().Need(p, lo, hi)
				parts = append(parts, bodyOf(t, b, m, info)[span.Off:span.End()])
			}
			got := make([]byte, 4*(hi-lo)*w.Cols())
			w.Matrix().Decode(got, asm.F32, parts, lo, hi, make([]float32, (hi-lo)*w.Cols()))
			quanttest.SameBits(t, quanttest.Floats(whole[4*lo*w.Cols():4*hi*w.Cols()]), quanttest.Floats(got))
		}
	}
}
