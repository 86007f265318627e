package form

import (
	"bytes"
	"encoding/binary"
	"math"
	"path"
	"testing"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// slice is a reference slice: a header of words, then parts by their lengths,
// the expected BF16 last.
type slice struct {
	head  []uint32
	parts [][]byte
	want  []byte
}

// readSlice reads headLen bytes of words; lens are the indices of the lengths.
func readSlice(t *testing.T, name string, headLen int, lens ...int) slice {
	t.Helper()
	file := fixtures.Read(t, name)
	var s slice
	for i := 0; i < headLen; i += 4 {
		s.head = append(s.head, binary.LittleEndian.Uint32(file[i:]))
	}
	file = file[headLen:]
	for _, l := range lens {
		n := s.head[l]
		s.parts = append(s.parts, file[:n])
		file = file[n:]
	}
	s.want = s.parts[len(s.parts)-1]
	s.parts = s.parts[:len(s.parts)-1]
	return s
}

var sliceScales = []tensor.DType{tensor.F32, tensor.BF16, tensor.F16}

// decodesTo decodes a form in ranges of uneven size, each from exactly the
// bytes that it asks for, and compares.
func decodesTo(t *testing.T, f Form, parts [][]byte, rows, cols int64, want []byte) {
	t.Helper()
	for _, o := range everyLevel() {
		decodesToBy(t, o, f, parts, rows, cols, want)
	}
}

// everyLevel is the tables of all levels that this machine has.
func everyLevel() (out []*asm.Ops) {
	for _, l := range asm.Machine() {
		o := asm.For(l.Features())
		out = append(out, &o)
	}
	return out
}

func decodesToBy(t *testing.T, o *asm.Ops, f Form, parts [][]byte, rows, cols int64, want []byte) {
	t.Helper()
	for _, step := range []int64{rows, 7, 1} {
		got := make([]byte, 2*rows*cols)
		for lo := int64(0); lo < rows; lo += step {
			hi := min(lo+step, rows)
			need := make([][]byte, len(parts))
			for p, part := range parts {
				span := f.Need(p, lo, hi)
				need[p] = part[span.Off:span.End():span.End()]
			}
			tile := make([]float32, (hi-lo)*cols)
			put(f, request{o, got[2*lo*cols : 2*hi*cols], asm.BF16, need, lo, hi, tile})
		}
		if !bytes.Equal(want, got) {
			t.Fatalf("%v differs in steps of %d rows", o.Level(), step)
		}
	}
}

// transposed turns BF16 [in, out] into [out, in].
func transposed(p []byte, in, out int64) []byte {
	t := make([]byte, len(p))
	for i := range in {
		for o := range out {
			copy(t[2*(o*in+i):], p[2*(i*out+o):][:2])
		}
	}
	return t
}

func TestRealFP8Slices(t *testing.T) {
	for _, name := range []string{"exaone_fine_grained", "llama_dynamic_per_channel", "ministral_per_tensor", "qwen3_4b_fine_grained_f16"} {
		t.Run(name, func(t *testing.T) {
			s := readSlice(t, path.Join("fp8", name+".bin"), 28, 4, 5, 6)
			rows, cols := int64(s.head[2]), int64(s.head[3])
			blocks := [][2]int64{{128, 128}, {rows, cols}, {1, cols}}[s.head[0]]
			dtype := sliceScales[s.head[1]]
			g, _ := dtype.Geometry()
			f := &Scaled{
				Cols: cols, Codes: Float8Row(cols, asm.E4M3),
				Scales: Grid{MatrixRows: rows, BlockRows: blocks[0], BlockCols: blocks[1], Cols: CeilDiv(cols, blocks[1]),
					Size: int64(g.Bytes), Read: Numbers[dtype]},
			}
			decodesTo(t, f, s.parts, rows, cols, s.want)
		})
	}
}

func TestRealGPTQSlices(t *testing.T) {
	for _, name := range []string{"falcon3_1b_int4", "llama_3_2_1b_gptqmodel_int8"} {
		t.Run(name, func(t *testing.T) {
			s := readSlice(t, path.Join("gptq", name+".bin"), 44, 6, 7, 8, 9, 10)
			in, out, group := int64(s.head[2]), int64(s.head[3]), int64(s.head[1])
			dtype := sliceScales[s.head[4]]
			g, _ := dtype.Geometry()
			f := &PackedIn{In: in, Out: out, Groups: in / group, Bits: int64(s.head[0]), GroupSize: group,
				Scale: Numbers[dtype], ScaleSize: int64(g.Bytes), OldZeros: true}
			parts := s.parts
			if s.head[5] == 0 {
				parts = parts[:inIndex]
			}
			decodesTo(t, f, parts, out, in, transposed(s.want, in, out))
		})
	}
}

func TestRealAWQSlice(t *testing.T) {
	s := readSlice(t, "awq/llama_3_2_1b_awq.bin", 36, 5, 6, 7, 8)
	in, out, group := int64(s.head[2]), int64(s.head[3]), int64(s.head[1])
	dtype := sliceScales[s.head[4]]
	g, _ := dtype.Geometry()
	f := &PackedOut{In: in, Out: out, Groups: in / group, Bits: 4, GroupSize: group, Scale: Numbers[dtype], ScaleSize: int64(g.Bytes)}
	decodesTo(t, f, s.parts, out, in, transposed(s.want, in, out))
}

func TestRealBitsandbytesSlices(t *testing.T) {
	for _, name := range []string{"llama_1b_nf4", "llama_1b_fp4", "llama_1b_nf4_double_quant"} {
		t.Run(name, func(t *testing.T) {
			s := readSlice(t, path.Join("bnb", name+".bin"), 40, 3, 4, 5, 6, 7, 8)
			n := int64(s.head[1])
			nested := s.head[0] == 2
			f := &Coded4{Cols: 64, Block: int64(s.head[2]), Nested: nested, NestedBlock: 256,
				Offset: math.Float32frombits(s.head[9]), Fp4: name == "llama_1b_fp4"}
			parts := s.parts
			if !nested {
				parts = parts[:codedNested]
			}
			decodesTo(t, f, parts, n/64, 64, s.want)
		})
	}
	t.Run("int8", func(t *testing.T) {
		s := readSlice(t, "bnb/llama_1b_int8.bin", 24, 3, 4, 5)
		rows, cols := int64(s.head[1]), int64(s.head[2])
		decodesTo(t, &Rows8{Cols: cols}, s.parts, rows, cols, s.want)
	})
}
