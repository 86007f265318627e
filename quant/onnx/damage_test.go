package onnx_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A model with any byte changed is refused, or its weights have the bytes that they state:
// attributes, shapes and names of the graph are a stranger's.
func TestDamagedModelsEndInAnErrorOrInWholeWeights(t *testing.T) {
	files, err := filepath.Glob("testdata/*/model.onnx")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d models, %v", len(files), err)
	}
	forms, _ := filepath.Glob("testdata/forms/*.onnx")
	decoded := 0
	for _, file := range slices.Concat(files, forms) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for at := range data {
			for _, flip := range []byte{0x01, 0x80, 0xff} {
				damaged := bytes.Clone(data)
				damaged[at] ^= flip
				decoded += decodeAll(t, damaged)
			}
		}
	}
	if decoded == 0 {
		t.Error("no damaged model was decoded")
	}
}

// decodeAll decodes every weight of a model, and returns how many there are.
func decodeAll(t *testing.T, data []byte) (decoded int) {
	t.Helper()
	b := limits.Policy{MaxTotalBytes: 64 << 20, MaxSteps: 1 << 22}.Budget(t.Context())
	defer b.Close()
	m, err := onnx.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return 0
	}
	defer m.Close()
	bound, err := quant.Plan(b, m, quant.Options{Target: quant.F32})
	if err != nil {
		return 0
	}
	for _, w := range bound.Weights {
		if size := w.Size(quant.F32); size <= 1<<20 {
			if err := quant.Decode(b, m, w, make([]byte, size), quant.F32); err == nil {
				decoded++
			}
		}
	}
	return decoded
}
