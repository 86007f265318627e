package form

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Matrices that are written transposed, alone, two side by side and two whose
// columns take turns, in ranges that begin and end anywhere and cross matrices,
// with no more scratch than they ask for: the numbers are those of the form.
func TestTurnedMatricesAreTheNumbersOfTheirPieces(t *testing.T) {
	const rows = 90 // of a piece
	f32 := Numbers[tensor.F32]
	groups := func(cols, group int64) Grid { return GroupGrid(4*rows, cols, group, 4, f32) }
	blocks := Grid{MatrixRows: rows, BlockRows: 32, BlockCols: 128, Cols: 3, Size: 4, Read: f32, Bulk: BulkOf(tensor.F32)}
	second, exponents := groups(320, 64), groups(320, 32)
	exponents.Read, exponents.Bulk, exponents.Size = ExponentByte, ScaleBulk(tensor.U8), 1
	zeros := GroupGrid(4*rows, 320, 64, 1, Numbers[tensor.I8])
	global := Grid{MatrixRows: 4 * rows, BlockRows: 4 * rows, BlockCols: 320, Cols: 1, Size: 4, Read: f32}
	forms := map[string]Slicer{
		"MXFP4":          &Scaled{Cols: 320, Codes: Fp4Row(320), Scales: exponents},
		"NVFP4":          &Scaled{Cols: 320, Codes: Fp4PlusRow(320), Scales: groups(320, 16), Global: &global, Divides: true},
		"FP8 rows":       &Scaled{Cols: 319, Codes: Float8Row(319, asm.E5M2), Scales: groups(319, 319)},
		"FP8 blocks":     &Scaled{Cols: 330, Codes: Float8Row(330, asm.E4M3), Scales: blocks},
		"INT8 groups":    &Scaled{Cols: 320, Codes: Int8Row(320), Scales: groups(320, 64), Seconds: &second, Op: asm.Shift},
		"MLX 4 bits":     &Scaled{Cols: 320, Codes: StreamRow(320, 4, 160, 0), Scales: groups(320, 64), Seconds: &second, Op: asm.Affine},
		"MLX 6 bits":     &Scaled{Cols: 320, Codes: StreamRow(320, 6, 240, 0), Scales: groups(320, 64), Seconds: &second, Op: asm.Affine},
		"packed 3 bits":  &Scaled{Cols: 100, Codes: StreamRow(100, 3, 40, 4), Scales: groups(100, 25)},
		"packed 4 act":   &Scaled{Cols: 320, Codes: StreamRow(320, 4, 160, 8), Scales: groups(320, 64), Columns: true},
		"packed 3 act":   &Scaled{Cols: 320, Codes: StreamRow(320, 3, 120, 4), Scales: groups(320, 64), Seconds: &zeros, Op: asm.Shift, Columns: true},
		"packed 8 act":   &Scaled{Cols: 320, Codes: StreamRow(320, 8, 320, 128), Scales: groups(320, 64), Columns: true},
		"FP8 columns":    &Scaled{Cols: 320, Codes: Float8Row(320, asm.E4M3), Scales: Grid{MatrixRows: rows, BlockRows: rows, BlockCols: 1, Cols: 320, Size: 4, Read: f32}},
		"AWQ":            &PackedOut{In: 320, Out: 4 * rows, Groups: 5, Bits: 4, GroupSize: 64, Scale: f32, ScaleSize: 4},
		"AWQ 3 bits":     &PackedOut{In: 320, Out: 384, Groups: 5, Bits: 3, GroupSize: 64, Scale: f32, ScaleSize: 4},
		"AWQ 8 bits":     &PackedOut{In: 320, Out: 4 * rows, Groups: 8, Bits: 8, GroupSize: 40, Scale: f32, ScaleSize: 4},
		"GPTQ":           &PackedIn{In: 320, Out: 4 * rows, Groups: 5, Bits: 4, GroupSize: 64, Scale: f32, ScaleSize: 4},
		"GPTQ 3 bits":    &PackedIn{In: 320, Out: 384, Groups: 3, Bits: 3, GroupSize: 128, Scale: f32, ScaleSize: 4, OldZeros: true},
		"GPTQ 8 bits":    &PackedIn{In: 320, Out: 4 * rows, Groups: 8, Bits: 8, GroupSize: 40, Scale: f32, ScaleSize: 4},
		"GPTQ act-order": &PackedIn{In: 320, Out: 4 * rows, Groups: 4, Bits: 4, GroupSize: 80, Scale: f32, ScaleSize: 4},
		"NF4":            &Coded4{Cols: 320, Block: 64},
		"NF4 nested":     &Coded4{Cols: 320, Block: 32, Nested: true, NestedBlock: 256, Offset: 0.5},
		"NF4, odd rows":  &Coded4{Cols: 319, Block: 64},
		"NF4 of 128":     &Coded4{Cols: 320, Block: 128, Nested: true, NestedBlock: 4, Offset: 0.5},
		"NF4 of 63":      &Coded4{Cols: 320, Block: 63},
		"LLM.int8":       &Rows8{Cols: 320},
	}
	cut := 0
	for name, f := range forms {
		in := int64(320)
		switch f := f.(type) {
		case *Scaled:
			in = f.Cols
		case *Coded4:
			in = f.Cols
		}
		if takesColumns(t, f, in, name) {
			cut++
		}
		count := partsOf(f, name)
		parts := RandomParts(f, name, 4*rows)
		one := func(i, n int64) Piece { return Piece{Form: f, First: i * rows, Rows: n, Parts: count} }
		for what, w := range map[string]*Transposed{
			"alone":       {In: in, Out: rows, Side: 1, Pieces: []Piece{one(0, rows), one(1, rows), one(2, rows), one(3, rows)}},
			"few":         {In: in, Out: 2, Side: 1, Pieces: []Piece{one(0, 2), one(1, 2)}},
			"two":         {In: in, Out: rows + 7, Side: 2, Pieces: []Piece{one(0, rows), one(1, 7), one(2, rows), one(3, 7)}},
			"interleaved": {In: in, Out: 2 * rows, Side: 2, Interleaved: true, Pieces: []Piece{one(0, rows), one(1, rows), one(2, rows), one(3, rows)}},
		} {
			t.Run(name+", "+what, func(t *testing.T) { turnsRight(t, w, parts) })
		}
	}
	want := len(forms) - 1
	if asm.Best().Level() == asm.Generic { // which decodes blocks that begin anywhere number by number
		want -= 3
	}
	if cut != want {
		t.Errorf("%d forms of %d have kernels, want %d", cut, len(forms), want)
	}
}

// takesColumns reports a kernel for the first columns of some rows.
func takesColumns(t *testing.T, f Slicer, cols int64, name string) bool {
	const rows = 64
	need := make([][]byte, partsOf(f, name))
	for p, part := range RandomParts(f, name, rows) {
		span := f.Need(p, 0, rows)
		need[p] = part[span.Off:span.End()]
	}
	c, ok := f.(cutter)
	if !ok {
		return false
	}
	_, end := c.span(0, min(24, cols))
	return c.cut(request{o: asm.Best(), dst: make([]byte, 4*rows*end), to: asm.F32, parts: need, lo: 0, scratch: make([]float32, 2*rows*end)}, area{rows: rows, cols: end})
}

func turnsRight(t *testing.T, f *Transposed, parts [][]byte) {
	total := f.In * int64(len(f.Pieces)) / f.Side
	w := Matrix{Form: f, Rows: total, Cols: f.Out}
	for _, r := range [][2]int64{{0, total}, {0, 64}, {32, 96}, {13, 90}, {f.In - 20, f.In + 50}, {total - 1, total}, {5, 6}} {
		lo, hi := r[0], r[1]
		need := make([][]byte, len(parts))
		for p, part := range parts {
			span := f.Need(p, lo, hi)
			need[p] = part[span.Off:span.End():span.End()]
		}
		n := (hi - lo) * f.Out
		numbers := make([]float32, n)
		f.decode(numbers, need, lo, hi)
		for _, to := range []asm.Type{asm.BF16, asm.F16, asm.F32} {
			want := make([]byte, n*int64(to.Size()))
			scalar := asm.For(0)
			scalar.Put(to, want, numbers)
			for _, o := range everyLevel() {
				got := make([]byte, len(want))
				w.decodeBy(request{o, got, to, need, lo, hi, make([]float32, w.Scratch(hi-lo))})
				if !bytes.Equal(want, got) {
					t.Fatalf("%v to %v, rows %v: differs", o.Level(), to, fmt.Sprint(r))
				}
			}
		}
	}
}
