package form

import (
	"fmt"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

const stripIn, stripOut = 256, 160

// stripForms have every width of codes, with an index and without.
func stripForms() map[string]Form {
	const in, out = stripIn, stripOut
	f16 := Numbers[tensor.F16]
	forms := map[string]Form{}
	for _, bits := range []int64{2, 3, 4, 8} {
		for _, old := range []bool{false, true} {
			forms[fmt.Sprintf("GPTQ %d bits, old zeros %v", bits, old)] = &PackedIn{In: in, Out: out, Groups: 4, Bits: bits, GroupSize: 64, Scale: f16, ScaleSize: 2, OldZeros: old}
		}
	}
	forms["GPTQ act-order"] = &PackedIn{In: in, Out: out, Groups: 4, Bits: 4, GroupSize: 64, Scale: f16, ScaleSize: 2}
	for _, bits := range []int64{3, 4, 8} {
		forms[fmt.Sprintf("AWQ %d bits", bits)] = &PackedOut{In: in, Out: out, Groups: 4, Bits: bits, GroupSize: 64, Scale: f16, ScaleSize: 2}
	}
	return forms
}

// The rows of a strip, read from its columns alone, are those of the weight.
func TestStripsAreTheRowsOfTheirWeight(t *testing.T) {
	const in, out = stripIn, stripOut
	for name, f := range stripForms() {
		t.Run(name, func(t *testing.T) {
			parts := RandomParts(f, name, out)
			w := Matrix{Form: f, Rows: out, Cols: in, Parts: len(parts)}
			if n := w.StripRows(1); n != StripUnit {
				t.Fatalf("the shortest strip has %d rows", n)
			}
			if n := w.StripRows(1 << 40); n != out {
				t.Fatalf("the longest strip has %d rows", n)
			}
			want, got := make([]byte, 2*out*in), make([]byte, 2*out*in)
			tile := make([]float32, out*in)
			w.Decode(want, asm.BF16, parts, 0, out, tile)
			for _, step := range []int64{32, 64, 96, out} {
				clear(got)
				for lo := int64(0); lo < out; lo += step {
					hi := min(lo+step, out)
					s, columns, err := w.Strip(lo, hi)
					if err != nil {
						t.Fatal(err)
					}
					gathered := make([][]byte, len(parts))
					for p, c := range columns {
						for r := range c.Rows {
							gathered[p] = append(gathered[p], parts[p][c.Off+r*c.Stride:][:c.Len]...)
						}
						if need := s.Need(p, 0, hi-lo); need.Off != 0 || need.Len != int64(len(gathered[p])) {
							t.Fatalf("part %d needs %v, %d bytes were gathered", p, need, len(gathered[p]))
						}
					}
					for row := lo; row < hi; row += 7 { // and ranges of it
						end := min(row+7, hi)
						s.Decode(got[2*row*in:2*end*in], asm.BF16, gathered, row-lo, end-lo, tile)
					}
				}
				if !slices.Equal(want, got) {
					t.Fatalf("strips of %d rows: other bytes", step)
				}
			}
			if _, _, err := w.Strip(8, 40); err == nil {
				t.Error("a strip that begins within a word")
			}
		})
	}
	if n := (Matrix{Form: &Coded4{Cols: 64, Block: 64}, Rows: 64, Cols: 64}).StripRows(100); n != 0 {
		t.Errorf("rows of their own come in strips of %d", n)
	}
}
