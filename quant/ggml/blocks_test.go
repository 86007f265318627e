package ggml_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// The goldens are written by gguf-py: testdata/quant/ggml.py.
func TestBlocksDecodeAsTheReferenceDoes(t *testing.T) {
	files, err := filepath.Glob("../../testdata/quant/ggml_*.raw")
	if err != nil || len(files) < 27 {
		t.Fatalf("%d goldens, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "ggml_"), ".raw")
		t.Run(name, func(t *testing.T) {
			dtype, ok := tensor.ParseDType(name)
			if !ok {
				t.Fatal("no such type")
			}
			codec, ok := quant.CodecOf(dtype)
			if !ok {
				t.Fatal("no codec")
			}
			raw, want := quanttest.Read(t, file), quanttest.Floats(quanttest.Read(t, strings.TrimSuffix(file, "raw")+"f32"))
			got := make([]float32, len(want))
			codec.Decode(got, raw)
			quanttest.SameBits(t, want, got)
			written := make([]byte, 4*len(want))
			codec.Write(written, quant.F32, raw, got)
			quanttest.SameBits(t, want, quanttest.Floats(written))
		})
	}
}
