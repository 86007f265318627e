package bnb_test

import (
	"encoding/binary"
	"math"
	"path"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/quanttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// realBnb is a slice of a published model as a model of one weight.
func realBnb(t *testing.T, name string) tensor.Model {
	t.Helper()
	p := fixtures.Read(t, path.Join("bnb", name+".bin"))
	head := func(i int) int64 { return int64(binary.LittleEndian.Uint32(p[4*i:])) }
	if name == "llama_1b_int8" {
		body := p[24:]
		rows, cols, w, scb := head(1), head(2), head(3), head(4)
		return quanttest.Model("", quanttest.Stored{Name: "m.weight", DType: tensor.I8, Shape: []int64{rows, cols}, Data: body[:w]},
			quanttest.Stored{Name: "m.SCB", DType: tensor.F32, Shape: []int64{rows}, Data: body[w : w+scb]})
	}
	body := p[40:]
	take := func(i int) []byte {
		part := body[:head(i)]
		body = body[head(i):]
		return part
	}
	s := bnb.State{Quantizer: bnb.Quantizer{FP4: name == "llama_1b_fp4", Block: int(head(2))}, DType: "bfloat16", Shape: []int64{64, head(1) / 64}}
	list := []quanttest.Stored{{Name: "m.weight", DType: tensor.U8, Shape: []int64{head(1) / 2, 1}, Data: take(3)}}
	scale := quanttest.Stored{Name: "m.weight.absmax", DType: tensor.F32, Shape: []int64{head(4) / 4}, Data: take(4)}
	list = append(list, quanttest.Stored{Name: "m.weight.quant_map", DType: tensor.F32, Shape: []int64{16}, Data: take(5)})
	if head(0) == 2 {
		s.Nested, s.Mean = true, math.Float32frombits(binary.LittleEndian.Uint32(p[36:]))
		scale.DType, scale.Shape[0] = tensor.U8, head(4)
		list = append(list, quanttest.Stored{Name: "m.weight.nested_absmax", DType: tensor.F32, Shape: []int64{head(6) / 4}, Data: take(6)},
			quanttest.Stored{Name: "m.weight.nested_quant_map", DType: tensor.F32, Shape: []int64{256}, Data: take(7)})
	}
	text := s.Append(nil)
	return quanttest.Model("", append(list, scale, quanttest.Stored{Name: "m.weight" + s.Key(), DType: tensor.U8, Shape: []int64{int64(len(text))}, Data: text})...)
}

// Codes that bitsandbytes wrote on a GPU round-trip byte for byte, including FP4's signed zeros.
func TestRealBitsandbytesCodesRoundTrip(t *testing.T) {
	for _, name := range []string{"llama_1b_nf4", "llama_1b_fp4", "llama_1b_nf4_double_quant", "llama_1b_int8"} {
		for _, to := range []quant.Target{quant.F32, quant.BF16} {
			t.Run(name+" through "+to.String(), func(t *testing.T) {
				m := realBnb(t, name)
				bound, b, err := quanttest.Plan(t, m, quant.Options{Target: to})
				if err != nil {
					t.Fatal(err)
				}
				trip, err := RoundTrip(b, m, bound.Weights[0], to)
				if err != nil {
					t.Fatal(err)
				}
				if want := bound.Weights[0].Rows() * bound.Weights[0].Cols(); trip.Codes != want || trip.Differ != 0 {
					t.Errorf("%+v of %d codes", trip, want)
				}
			})
		}
	}
}

// With scales that are not nested the whole way back needs nothing stored: the
// largest number of a block is its scale.
func TestRealBitsandbytesScalesAreRecovered(t *testing.T) {
	for _, name := range []string{"llama_1b_nf4", "llama_1b_fp4"} {
		t.Run(name, func(t *testing.T) {
			m := realBnb(t, name)
			w, decodedBytes := quanttest.Decoded(t, m, quant.Options{Target: quant.F32})
			values := quanttest.Floats(decodedBytes)
			q := bnb.Quantizer{FP4: name == "llama_1b_fp4", Block: 64}
			codes, scales := make([]byte, len(values)/2), make([]float32, len(values)/64)
			if err := q.Encode(codes, scales, values); err != nil {
				t.Fatal(err)
			}
			part := func(i int) []byte {
				r, _ := m.At(w.Parts[i])
				p := make([]byte, w.Parts[i].Span.Len)
				if _, err := r.ReadAt(p, 0); err != nil {
					t.Fatal(err)
				}
				return p
			}
			quanttest.SameBits(t, quanttest.Floats(part(1)), scales)
			want := part(0)
			zero := func(c byte) byte { // of either sign
				if q.FP4 && c == 8 {
					return 0
				}
				return c
			}
			for i := range want {
				if g, w := codes[i], want[i]; zero(g>>4) != zero(w>>4) || zero(g&15) != zero(w&15) {
					t.Fatalf("byte %d: %x, want %x", i, g, w)
				}
			}
		})
	}
}

// A block with nothing in it has the code of zero, and an absmax of zero cannot
// say anything else.
func TestARoundTripCountsTheCodesOfZeroBlocks(t *testing.T) {
	s := bnb.State{Quantizer: bnb.Quantizer{Block: 32}, DType: "float32", Shape: []int64{2, 32}}
	codebook := s.Codebook()
	codes := make([]byte, 32)
	for i := range codes {
		codes[i] = 0x77
	}
	codes[3] = 0x57 // in the block of zeros: 0.0 as 7 is
	text := s.Append(nil)
	m := quanttest.Model("", quanttest.Stored{Name: "w", DType: tensor.U8, Shape: []int64{32, 1}, Data: codes}, quanttest.Stored{Name: "w.absmax", DType: tensor.F32, Shape: []int64{2}, Data: quanttest.F32(0, 1)},
		quanttest.Stored{Name: "w.quant_map", DType: tensor.F32, Shape: []int64{16}, Data: quanttest.F32(codebook[:]...)}, quanttest.Stored{Name: "w" + s.Key(), DType: tensor.U8, Shape: []int64{int64(len(text))}, Data: text})
	bound, b, err := quanttest.Plan(t, m, quant.Options{Target: quant.F32})
	if err != nil {
		t.Fatal(err)
	}
	trip, err := RoundTrip(b, m, bound.Weights[0], quant.F32)
	if want := (Trip{Codes: 64, Differ: 1, First: 6}); err != nil || trip != want {
		t.Errorf("%+v, %v, want %+v", trip, err, want)
	}
}

func TestSchemesWithoutAnEncoderAreRefused(t *testing.T) {
	m := quanttest.Model(`{"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}}`,
		quanttest.Stored{Name: "m.weight", DType: tensor.F8E4M3, Shape: []int64{2, 4}, Data: make([]byte, 8)}, quanttest.Stored{Name: "m.weight_scale_inv", DType: tensor.F32, Shape: []int64{1, 1}, Data: quanttest.F32(1)})
	bound, b, err := quanttest.Plan(t, m, quant.Options{Target: quant.F32})
	if err != nil || len(bound.Weights) != 1 {
		t.Fatal(bound, err)
	}
	if _, err := RoundTrip(b, m, bound.Weights[0], quant.F32); wire.ClassOf(err) != wire.Usage {
		t.Error(err)
	}
}
