package quant_test

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// The goldens are written by ml_dtypes and numpy: testdata/quant/floats.py.
func TestEverySmallFloatHasItsValue(t *testing.T) {
	files, err := filepath.Glob("../testdata/quant/codes_*.f32")
	if err != nil || len(files) != 8 {
		t.Fatalf("%d goldens, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "codes_"), ".f32")
		t.Run(name, func(t *testing.T) {
			dtype, _ := tensor.ParseDType(name)
			codec, ok := quant.CodecOf(dtype)
			if !ok {
				t.Fatal("no codec")
			}
			want := quanttest.Floats(quanttest.Read(t, file))
			got := make([]float32, len(want))
			codec.Decode(got, packCodes(len(want)))
			quanttest.SameBits(t, want, got)
		})
	}
}

// packCodes writes the codes 0..n-1 as densely as their number of bits asks,
// lowest bits first.
func packCodes(n int) []byte {
	bits := 8
	switch n {
	case 64:
		bits = 6
	case 16:
		bits = 4
	}
	out := make([]byte, n*bits/8)
	for code := range n {
		for b := range bits {
			at := code*bits + b
			out[at/8] |= byte(code>>b&1) << (at % 8)
		}
	}
	return out
}

func TestNumbersAreRoundedOnce(t *testing.T) {
	src := quanttest.Floats(quanttest.Read(t, "../testdata/quant/round.f32"))
	for _, tc := range []struct {
		to   quant.Target
		file string
	}{{quant.F16, "round.f16"}, {quant.BF16, "round.bf16"}, {quant.F32, "round.f32"}} {
		t.Run(tc.to.String(), func(t *testing.T) {
			want := quanttest.Read(t, "../testdata/quant/"+tc.file)
			got := make([]byte, len(src)*tc.to.Size())
			tc.to.Put(got, src)
			size := tc.to.Size()
			for i := range src {
				w, g := want[i*size:][:size], got[i*size:][:size]
				if !bytes.Equal(w, g) {
					t.Fatalf("%x became %x, want %x", math.Float32bits(src[i]), g, w)
				}
			}
		})
	}
}

func TestEveryNaNIsWrittenAsOne(t *testing.T) {
	src := quanttest.Floats([]byte{1, 0, 0x80, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0xC0, 0xFF})
	for to, want := range map[quant.Target][]byte{
		quant.BF16: {0xC0, 0x7F}, quant.F16: {0x00, 0x7E}, quant.F32: {0, 0, 0xC0, 0x7F},
	} {
		got := make([]byte, len(src)*to.Size())
		to.Put(got, src)
		if !bytes.Equal(got, bytes.Repeat(want, len(src))) {
			t.Errorf("%v: % x", to, got)
		}
	}
}

func TestEveryHalfSurvives(t *testing.T) {
	codec, _ := quant.CodecOf(tensor.F16)
	for h := range 1 << 16 {
		src := []byte{byte(h), byte(h >> 8)}
		var f [1]float32
		codec.Decode(f[:], src)
		if f[0] != f[0] {
			continue
		}
		got := make([]byte, 2)
		quant.F16.Put(got, f[:])
		if !bytes.Equal(src, got) {
			t.Fatalf("%04x became % x", h, got)
		}
	}
}
