package quant

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

const stripIn, stripOut = 256, 160

// stripForms have every width of codes, with an index and without.
func stripForms() map[string]form {
	const in, out = stripIn, stripOut
	f16 := numbers[tensor.F16]
	forms := map[string]form{}
	for _, bits := range []int64{2, 3, 4, 8} {
		for _, old := range []bool{false, true} {
			forms[fmt.Sprintf("GPTQ %d bits, old zeros %v", bits, old)] = &gptq{in: in, out: out, groups: 4, bits: bits, groupSize: 64, scale: f16, scaleSize: 2, oldZeros: old}
		}
	}
	forms["GPTQ act-order"] = &gptq{in: in, out: out, groups: 4, bits: 4, groupSize: 64, scale: f16, scaleSize: 2}
	for _, bits := range []int64{3, 4, 8} {
		forms[fmt.Sprintf("AWQ %d bits", bits)] = &awq{in: in, out: out, groups: 4, bits: bits, groupSize: 64, scale: f16, scaleSize: 2}
	}
	return forms
}

// The rows of a strip, read from its columns alone, are those of the weight.
func TestStripsAreTheRowsOfTheirWeight(t *testing.T) {
	const in, out = stripIn, stripOut
	for name, f := range stripForms() {
		t.Run(name, func(t *testing.T) {
			parts := randomParts(f, name, out)
			w := &Weight{Name: name, Shape: []int64{out, in}, Parts: make([]tensor.Info, len(parts)), form: f, rows: out, cols: in}
			if n := w.StripRows(1); n != stripUnit {
				t.Fatalf("the shortest strip has %d rows", n)
			}
			if n := w.StripRows(1 << 40); n != out {
				t.Fatalf("the longest strip has %d rows", n)
			}
			want, got := make([]byte, 2*out*in), make([]byte, 2*out*in)
			tile := make([]float32, out*in)
			w.decode(asm.Best(), want, BF16, parts, 0, out, tile)
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
						s.decode(asm.Best(), got[2*row*in:2*end*in], BF16, gathered, row-lo, end-lo, tile)
					}
				}
				if !slices.Equal(want, got) {
					t.Fatalf("strips of %d rows: other bytes", step)
				}
			}
			if _, _, err := w.Strip(8, 40); err == nil {
				t.Error("a strip that begins within a word")
			}
			if diff := cmp.Diff([]int64{out, in}, w.Shape); diff != "" {
				t.Error(diff)
			}
		})
	}
	if n := (&Weight{form: &bnb4{cols: 64, block: 64}, rows: 64, cols: 64}).StripRows(100); n != 0 {
		t.Errorf("rows of their own come in strips of %d", n)
	}
}

// Rows that are read in strips are those of the weight, from the first on and
// from anywhere else.
func TestRowsInStripsAreThoseOfTheWeight(t *testing.T) {
	for name, f := range stripForms() {
		t.Run(name, func(t *testing.T) {
			b := limits.Policy{}.Budget(t.Context())
			defer b.Close()
			m := &tensor.File{}
			w := &Weight{Name: name, Shape: []int64{stripOut, stripIn}, form: f, rows: stripOut, cols: stripIn}
			var body []byte
			for _, p := range randomParts(f, name, stripOut) {
				w.Parts = append(w.Parts, tensor.Info{DType: tensor.U8, Span: tensor.Span{Off: int64(len(body)), Len: int64(len(p))}})
				body = append(body, p...)
			}
			m.Infos, m.Source = w.Parts, bytes.NewReader(body)
			want := make([]byte, w.Size(F16))
			if err := Decode(b, m, w, want, F16); err != nil {
				t.Fatal(err)
			}
			for _, strip := range []int64{32, 96} {
				for _, step := range []int64{7, 32, 50, stripOut} {
					rowsInStrips(t, b, m, w, want, strip, step)
				}
			}
		})
	}
}

func rowsInStrips(t *testing.T, b *limits.Budget, m tensor.Model, w *Weight, want []byte, strip, step int64) {
	r, err := NewRows(b, m, w, F16, step)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.strip = strip
	for _, from := range []int64{0, w.rows - 3, 5} {
		r.Goto(from)
		got, room := want[:2*from*w.cols:2*from*w.cols], make([]byte, r.Most())
		for {
			n, err := r.Next(room)
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			got = append(got, room[:n]...)
		}
		if !bytes.Equal(want, got) {
			t.Fatalf("strips of %d, %d rows at a time from row %d on: other bytes", strip, step, from)
		}
	}
}
