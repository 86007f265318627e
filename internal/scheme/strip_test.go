package scheme

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

const stripIn, stripOut = 256, 160

// stripForms have every width of codes, with an index and without.
func stripForms() map[string]form.Form {
	const in, out = stripIn, stripOut
	f16 := form.Numbers[tensor.F16]
	forms := map[string]form.Form{}
	for _, bits := range []int64{2, 3, 4, 8} {
		for _, old := range []bool{false, true} {
			forms[fmt.Sprintf("GPTQ %d bits, old zeros %v", bits, old)] = &form.PackedIn{In: in, Out: out, Groups: 4, Bits: bits, GroupSize: 64, Scale: f16, ScaleSize: 2, OldZeros: old}
		}
	}
	forms["GPTQ act-order"] = &form.PackedIn{In: in, Out: out, Groups: 4, Bits: 4, GroupSize: 64, Scale: f16, ScaleSize: 2}
	for _, bits := range []int64{3, 4, 8} {
		forms[fmt.Sprintf("AWQ %d bits", bits)] = &form.PackedOut{In: in, Out: out, Groups: 4, Bits: bits, GroupSize: 64, Scale: f16, ScaleSize: 2}
	}
	return forms
}

// Rows that are read in strips are those of the weight, from the first on and
// from anywhere else.
func TestRowsInStripsAreThoseOfTheWeight(t *testing.T) {
	for name, f := range stripForms() {
		t.Run(name, func(t *testing.T) {
			b := limits.Policy{}.Budget(t.Context())
			defer b.Close()
			m := &tensor.File{}
			w := &Weight{Name: name, Shape: []int64{stripOut, stripIn}, Form: f, rows: stripOut, cols: stripIn}
			var body []byte
			for _, p := range stripParts(f, strings.Contains(name, "act-order")) {
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

// stripParts are random bytes, and an index of groups where there is one.
func stripParts(f form.Form, index bool) (parts [][]byte) {
	rng := rand.NewChaCha8([32]byte([]byte("rows that are columns of parts  ")))
	for p := range 3 {
		part := make([]byte, f.Need(p, 0, stripOut).Len)
		rng.Read(part)
		parts = append(parts, part)
	}
	if index {
		part := make([]byte, f.Need(3, 0, stripOut).Len)
		for i := 0; i < len(part); i += 4 {
			part[i] = byte(i / 4 % 4)
		}
		parts = append(parts, part)
	}
	return parts
}
