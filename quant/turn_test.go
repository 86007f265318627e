package quant

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
	f32 := numbers[tensor.F32]
	groups := func(cols, group int64) grid { return groupGrid(4*rows, cols, group, 4, f32) }
	blocks := grid{matrixRows: rows, blockRows: 32, blockCols: 128, cols: 3, size: 4, read: f32, bulk: bulkOf(tensor.F32)}
	second, exponents := groups(320, 64), groups(320, 32)
	exponents.read, exponents.bulk, exponents.size = exponentByte, bulkOf(tensor.U8), 1
	zeros := groupGrid(4*rows, 320, 64, 1, numbers[tensor.I8])
	global := grid{matrixRows: 4 * rows, blockRows: 4 * rows, blockCols: 320, cols: 1, size: 4, read: f32}
	forms := map[string]slicer{
		"MXFP4":          &scaled{cols: 320, codes: fp4Row(320), scales: exponents},
		"NVFP4":          &scaled{cols: 320, codes: fp4PlusRow(320), scales: groups(320, 16), global: &global, divides: true},
		"FP8 rows":       &scaled{cols: 319, codes: float8Row(319, asm.E5M2), scales: groups(319, 319)},
		"FP8 blocks":     &scaled{cols: 330, codes: float8Row(330, asm.E4M3), scales: blocks},
		"INT8 groups":    &scaled{cols: 320, codes: int8Row(320), scales: groups(320, 64), seconds: &second, op: opShift},
		"MLX 4 bits":     &scaled{cols: 320, codes: streamRow(320, 4, 160, 0), scales: groups(320, 64), seconds: &second, op: opAffine},
		"MLX 6 bits":     &scaled{cols: 320, codes: streamRow(320, 6, 240, 0), scales: groups(320, 64), seconds: &second, op: opAffine},
		"packed 3 bits":  &scaled{cols: 100, codes: streamRow(100, 3, 40, 4), scales: groups(100, 25)},
		"packed 4 act":   &scaled{cols: 320, codes: streamRow(320, 4, 160, 8), scales: groups(320, 64), columns: true},
		"packed 3 act":   &scaled{cols: 320, codes: streamRow(320, 3, 120, 4), scales: groups(320, 64), seconds: &zeros, op: opShift, columns: true},
		"packed 8 act":   &scaled{cols: 320, codes: streamRow(320, 8, 320, 128), scales: groups(320, 64), columns: true},
		"FP8 columns":    &scaled{cols: 320, codes: float8Row(320, asm.E4M3), scales: grid{matrixRows: rows, blockRows: rows, blockCols: 1, cols: 320, size: 4, read: f32}},
		"AWQ":            &awq{in: 320, out: 4 * rows, groups: 5, bits: 4, groupSize: 64, scale: f32, scaleSize: 4},
		"AWQ 3 bits":     &awq{in: 320, out: 384, groups: 5, bits: 3, groupSize: 64, scale: f32, scaleSize: 4},
		"AWQ 8 bits":     &awq{in: 320, out: 4 * rows, groups: 8, bits: 8, groupSize: 40, scale: f32, scaleSize: 4},
		"GPTQ":           &gptq{in: 320, out: 4 * rows, groups: 5, bits: 4, groupSize: 64, scale: f32, scaleSize: 4},
		"GPTQ 3 bits":    &gptq{in: 320, out: 384, groups: 3, bits: 3, groupSize: 128, scale: f32, scaleSize: 4, oldZeros: true},
		"GPTQ 8 bits":    &gptq{in: 320, out: 4 * rows, groups: 8, bits: 8, groupSize: 40, scale: f32, scaleSize: 4},
		"GPTQ act-order": &gptq{in: 320, out: 4 * rows, groups: 4, bits: 4, groupSize: 80, scale: f32, scaleSize: 4},
		"NF4":            &bnb4{cols: 320, block: 64},
		"NF4 nested":     &bnb4{cols: 320, block: 32, nested: true, nestedBlock: 256, offset: 0.5},
		"NF4, odd rows":  &bnb4{cols: 319, block: 64},
		"NF4 of 128":     &bnb4{cols: 320, block: 128, nested: true, nestedBlock: 4, offset: 0.5},
		"NF4 of 63":      &bnb4{cols: 320, block: 63},
		"LLM.int8":       &bnb8{cols: 320},
	}
	cut := 0
	for name, f := range forms {
		in := int64(320)
		switch f := f.(type) {
		case *scaled:
			in = f.cols
		case *bnb4:
			in = f.cols
		}
		if takesColumns(t, f, in, name) {
			cut++
		}
		count := partsOf(f, name)
		parts := randomParts(f, name, 4*rows)
		one := func(i, n int64) piece { return piece{form: f, first: i * rows, rows: n, parts: count} }
		for what, w := range map[string]*turned{
			"alone": {in: in, out: rows, side: 1, pieces: []piece{one(0, rows), one(1, rows), one(2, rows), one(3, rows)}},
			"few":   {in: in, out: 2, side: 1, pieces: []piece{one(0, 2), one(1, 2)}},
			"two":   {in: in, out: rows + 7, side: 2, pieces: []piece{one(0, rows), one(1, 7), one(2, rows), one(3, 7)}},
			"woven": {in: in, out: 2 * rows, side: 2, woven: true, pieces: []piece{one(0, rows), one(1, rows), one(2, rows), one(3, rows)}},
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
func takesColumns(t *testing.T, f slicer, cols int64, name string) bool {
	const rows = 64
	need := make([][]byte, partsOf(f, name))
	for p, part := range randomParts(f, name, rows) {
		span := f.need(p, 0, rows)
		need[p] = part[span.Off:span.End()]
	}
	c, ok := f.(cutter)
	if !ok {
		return false
	}
	_, end := c.span(0, min(24, cols))
	return c.cut(request{o: asm.Best(), dst: make([]byte, 4*rows*end), to: asm.F32, parts: need, lo: 0, scratch: make([]float32, 2*rows*end)}, 0, rows, 0, end)
}

func turnsRight(t *testing.T, f *turned, parts [][]byte) {
	total := f.in * int64(len(f.pieces)) / f.side
	w := &Weight{form: f, rows: total, cols: f.out}
	for _, r := range [][2]int64{{0, total}, {0, 64}, {32, 96}, {13, 90}, {f.in - 20, f.in + 50}, {total - 1, total}, {5, 6}} {
		lo, hi := r[0], r[1]
		need := make([][]byte, len(parts))
		for p, part := range parts {
			span := f.need(p, lo, hi)
			need[p] = part[span.Off:span.End():span.End()]
		}
		n := (hi - lo) * f.out
		numbers := make([]float32, n)
		f.decode(numbers, need, lo, hi)
		for _, to := range []Target{BF16, F16, F32} {
			want := make([]byte, n*int64(to.Size()))
			scalar := asm.For(0)
			scalar.Put(targets[to].kind, want, numbers)
			for _, o := range everyLevel() {
				got := make([]byte, len(want))
				w.decode(o, got, to, need, lo, hi, make([]float32, w.Scratch(hi-lo)))
				if !bytes.Equal(want, got) {
					t.Fatalf("%v to %v, rows %v: differs", o.Level(), to, fmt.Sprint(r))
				}
			}
		}
	}
}
