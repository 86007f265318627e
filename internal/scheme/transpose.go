package scheme

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Transpose returns a matrix of floating-point numbers, or each matrix of a stack, with
// rows and columns exchanged. Any range of rows needs its whole matrix.
func Transpose(w *Weight) (*Weight, error) {
	n := len(w.Shape)
	if n != 2 && n != 3 || len(w.Parts) != 1 || form.Numbers[w.Parts[0].DType] == nil || w.Parts[0].Bytes() != w.Stored() {
		return nil, wire.ErrUnsupported.Errorf("%s is not a matrix of plain numbers; nothing else can be transposed", wire.Quote(w.Name))
	}
	g, _ := w.Parts[0].DType.Geometry()
	in, out := w.Shape[n-2], w.Shape[n-1]
	t := &Weight{Name: w.Name, Shape: []int64{out, in}, Scheme: w.Scheme, Row: w.Row, Layout: w.Layout + ", transposed", Parts: w.Parts, rows: out, cols: in}
	f := form.Flipped{Rows: out, Cols: in, Size: int64(g.Bytes), Read: form.Numbers[w.Parts[0].DType]}
	f.As, f.Plain = form.KernelType(w.Parts[0].DType)
	t.Form = &f
	if n == 3 {
		t.Shape, t.rows = []int64{w.Shape[0], out, in}, w.Shape[0]*out
		t.Form = &form.FlippedStack{Flipped: f, Matrices: w.Shape[0]}
	}
	return t, nil
}
