package quant_test

import (
	"encoding/binary"
	"math"
	"path"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
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
		return model("", stored{"m.weight", tensor.I8, []int64{rows, cols}, body[:w]},
			stored{"m.SCB", tensor.F32, []int64{rows}, body[w : w+scb]})
	}
	body := p[40:]
	take := func(i int) []byte {
		part := body[:head(i)]
		body = body[head(i):]
		return part
	}
	s := bnb.State{Quantizer: bnb.Quantizer{FP4: name == "llama_1b_fp4", Block: int(head(2))}, DType: "bfloat16", Shape: []int64{64, head(1) / 64}}
	list := []stored{{"m.weight", tensor.U8, []int64{head(1) / 2, 1}, take(3)}}
	scale := stored{"m.weight.absmax", tensor.F32, []int64{head(4) / 4}, take(4)}
	list = append(list, stored{"m.weight.quant_map", tensor.F32, []int64{16}, take(5)})
	if head(0) == 2 {
		s.Nested, s.Mean = true, math.Float32frombits(binary.LittleEndian.Uint32(p[36:]))
		scale.dtype, scale.shape[0] = tensor.U8, head(4)
		list = append(list, stored{"m.weight.nested_absmax", tensor.F32, []int64{head(6) / 4}, take(6)},
			stored{"m.weight.nested_quant_map", tensor.F32, []int64{256}, take(7)})
	}
	text := s.Append(nil)
	return model("", append(list, scale, stored{"m.weight" + s.Key(), tensor.U8, []int64{int64(len(text))}, text})...)
}

// What bitsandbytes wrote on a GPU comes back byte for byte, FP4's signed zeros
// too.
func TestRealBitsandbytesCodesComeBack(t *testing.T) {
	for _, name := range []string{"llama_1b_nf4", "llama_1b_fp4", "llama_1b_nf4_double_quant", "llama_1b_int8"} {
		for _, to := range []quant.Target{quant.F32, quant.BF16} {
			t.Run(name+" through "+to.String(), func(t *testing.T) {
				m := realBnb(t, name)
				bound, b, err := plan(t, m, quant.Options{Target: to})
				if err != nil {
					t.Fatal(err)
				}
				trip, err := quant.RoundTrip(b, m, bound.Weights[0], to)
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
func TestRealBitsandbytesBlocksAreFoundAnew(t *testing.T) {
	for _, name := range []string{"llama_1b_nf4", "llama_1b_fp4"} {
		t.Run(name, func(t *testing.T) {
			m := realBnb(t, name)
			w, decodedBytes := decoded(t, m, quant.Options{Target: quant.F32})
			values := floats(decodedBytes)
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
			sameBits(t, floats(part(1)), scales)
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
func TestARoundTripTellsWhereCodesAreLost(t *testing.T) {
	s := bnb.State{Quantizer: bnb.Quantizer{Block: 32}, DType: "float32", Shape: []int64{2, 32}}
	codebook := s.Codebook()
	codes := make([]byte, 32)
	for i := range codes {
		codes[i] = 0x77
	}
	codes[3] = 0x57 // in the block of zeros: 0.0 as 7 is
	text := s.Append(nil)
	m := model("", stored{"w", tensor.U8, []int64{32, 1}, codes}, stored{"w.absmax", tensor.F32, []int64{2}, bytesOf([]float32{0, 1})},
		stored{"w.quant_map", tensor.F32, []int64{16}, bytesOf(codebook[:])}, stored{"w" + s.Key(), tensor.U8, []int64{int64(len(text))}, text})
	bound, b, err := plan(t, m, quant.Options{Target: quant.F32})
	if err != nil {
		t.Fatal(err)
	}
	trip, err := quant.RoundTrip(b, m, bound.Weights[0], quant.F32)
	if want := (quant.Trip{Codes: 64, Differ: 1, First: 6}); err != nil || trip != want {
		t.Errorf("%+v, %v, want %+v", trip, err, want)
	}
}

func TestOtherSchemesHaveNoWayBack(t *testing.T) {
	m := model(`{"quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}}`,
		stored{"m.weight", tensor.F8E4M3, []int64{2, 4}, make([]byte, 8)}, stored{"m.weight_scale_inv", tensor.F32, []int64{1, 1}, bytesOf([]float32{1})})
	bound, b, err := plan(t, m, quant.Options{Target: quant.F32})
	if err != nil || len(bound.Weights) != 1 {
		t.Fatal(bound, err)
	}
	if _, err := quant.RoundTrip(b, m, bound.Weights[0], quant.F32); wire.ClassOf(err) != wire.Usage {
		t.Error(err)
	}
}

func bytesOf(list []float32) []byte {
	var p []byte
	for _, x := range list {
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(x))
	}
	return p
}
