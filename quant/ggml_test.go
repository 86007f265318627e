package quant_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// The goldens are written by gguf-py: testdata/quant/ggml.py.
func TestBlocksDecodeAsTheReferenceDoes(t *testing.T) {
	files, err := filepath.Glob("../testdata/quant/ggml_*.raw")
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
			raw, want := read(t, file), floats(read(t, strings.TrimSuffix(file, "raw")+"f32"))
			got := make([]float32, len(want))
			codec.Decode(got, raw)
			sameBits(t, want, got)
			written := make([]byte, 4*len(want))
			codec.Write(written, quant.F32, raw, got)
			sameBits(t, want, floats(written))
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func floats(p []byte) []float32 {
	out := make([]float32, len(p)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
	}
	return out
}

// sameBits compares bit for bit, NaN as NaN.
func sameBits(t *testing.T, want, got []float32) {
	t.Helper()
	bad := 0
	for i, w := range want {
		g := got[i]
		if math.Float32bits(w) != math.Float32bits(g) && !(w != w && g != g) {
			if bad++; bad < 10 {
				t.Errorf("element %d: %x (%v), want %x (%v)", i, math.Float32bits(g), g, math.Float32bits(w), w)
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d differ", bad, len(want))
	}
}
