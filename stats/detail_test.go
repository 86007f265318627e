package stats_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/stats"
)

// oneTensor opens a safetensors file with one tensor.
func oneTensor(t *testing.T, dtype string, rows, cols int, body []byte) (*limits.Budget, tensor.Model) {
	t.Helper()
	head := fmt.Sprintf(`{"w":{"dtype":%q,"shape":[%d,%d],"data_offsets":[0,%d]}}`, dtype, rows, cols, len(body))
	head += string(bytes.Repeat([]byte(" "), (8-len(head)%8)%8))
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...)
	file = append(file, body...)
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	m, err := parser.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return b, m
}

func detail(t *testing.T, b *limits.Budget, m tensor.Model, name string, o stats.DetailOptions) *stats.Detail {
	t.Helper()
	d, err := stats.DetailOf(b, m, name, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// naive computes the grid, the norms and the largest of a matrix one element at a time, from
// the rows that count.
func naive(values []float64, rows, cols int, counts func(row int) bool) (grid, rowNorms, colNorms []float64, largest []stats.Element) {
	gr, gc, nr, nc := min(rows, 64), min(cols, 96), min(rows, 256), min(cols, 256)
	type cell struct{ sum, n float64 }
	g, r, c := make([]cell, gr*gc), make([]cell, nr), make([]cell, nc)
	for i, x := range values {
		row, col := i/cols, i%cols
		if !counts(row) || math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		for at, x := range map[*cell]float64{&g[row*gr/rows*gc+col*gc/cols]: math.Abs(x), &r[row*nr/rows]: x * x, &c[col*nc/cols]: x * x} {
			at.sum += x
			at.n++
		}
		largest = append(largest, stats.Element{Index: int64(i), Value: x})
	}
	slices.SortStableFunc(largest, func(a, b stats.Element) int { return cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)) })
	for _, x := range g {
		grid = append(grid, x.sum/x.n)
	}
	for _, x := range r {
		rowNorms = append(rowNorms, math.Sqrt(x.sum/x.n))
	}
	for _, x := range c {
		colNorms = append(colNorms, math.Sqrt(x.sum/x.n))
	}
	return grid, rowNorms, colNorms, largest[:min(16, len(largest))]
}

func sameNumbers(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for k := range want {
		if math.IsNaN(got[k]) != math.IsNaN(want[k]) || math.Abs(got[k]-want[k]) > 1e-9*math.Abs(want[k]) {
			t.Fatalf("%s %d: %v, want %v", what, k, got[k], want[k])
		}
	}
}

func sameDetail(t *testing.T, d *stats.Detail, values []float64, rows, cols int, counts func(int) bool) {
	t.Helper()
	grid, rowNorms, colNorms, largest := naive(values, rows, cols, counts)
	if d.Rows != int64(rows) || d.Cols != int64(cols) {
		t.Fatalf("%d rows, %d columns, want %d, %d", d.Rows, d.Cols, rows, cols)
	}
	sameNumbers(t, "cell", d.Grid, grid)
	sameNumbers(t, "norm of row", d.RowNorms, rowNorms)
	sameNumbers(t, "norm of column", d.ColNorms, colNorms)
	for k, e := range largest {
		if d.Largest[k] != e {
			t.Errorf("largest %d: %v, want %v", k, d.Largest[k], e)
		}
	}
	for k, x := range values[:min(64, len(values))] {
		if d.Values[k] != x && !math.IsNaN(x) {
			t.Errorf("element %d is %v, want %v", k, d.Values[k], x)
		}
	}
}

func TestAWholeTensorInDetail(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 5000}, {5000, 1}, {3, 7}, {300, 1000}, {64, 96}, {65, 97}} {
		rows, cols := size[0], size[1]
		var body []byte
		var values []float64
		for k := range rows * cols {
			x := float32(math.Sin(float64(k*k%7919))) * float32(k%13)
			if k == 11 {
				x = float32(math.Inf(1))
			}
			values = append(values, float64(x))
			body = binary.LittleEndian.AppendUint32(body, math.Float32bits(x))
		}
		b, m := oneTensor(t, "F32", rows, cols, body)
		d := detail(t, b, m, "w", stats.DetailOptions{})
		if d.Read != d.Elements || d.Elements != int64(rows*cols) {
			t.Fatalf("%d of %d were read", d.Read, d.Elements)
		}
		if len(values) > 11 && (d.First != 11 || d.Infinite != 1) {
			t.Errorf("%v: %d infinite, the first at %d", size, d.Infinite, d.First)
		}
		sameDetail(t, d, values, rows, cols, func(int) bool { return true })
	}
}

// A sample has whole rows at equal distances, at least one for each row of the grid; what was
// not read is no number.
func TestASampleHasRowsOfTheWholeTensor(t *testing.T) {
	const rows, cols = 5000, 1024
	body := make([]byte, rows*cols)
	values := make([]float64, rows*cols)
	for k := range body {
		body[k] = byte(k*31 ^ k>>9)
		values[k] = float64(body[k])
	}
	b, m := oneTensor(t, "U8", rows, cols, body)
	d := detail(t, b, m, "w", stats.DetailOptions{})
	const read = stats.SampleElements / cols
	if d.Read != read*cols {
		t.Fatalf("%d were read, want %d", d.Read, read*cols)
	}
	chosen := map[int]bool{}
	for k := range read {
		chosen[k*rows/read] = true
	}
	sameDetail(t, d, values, rows, cols, func(row int) bool { return chosen[row] })
	var said int64
	whole := detail(t, b, m, "w", stats.DetailOptions{Whole: true, Done: func(n, of int64) { said = n }})
	if whole.Read != rows*cols || said != whole.Read {
		t.Errorf("%d were read, %d said", whole.Read, said)
	}
	sameDetail(t, whole, values, rows, cols, func(int) bool { return true })
}

// Rows of a member that must be inflated in order, and of a transposed view, are those of a
// tensor that lies open.
func TestASampleOfWhatCannotBeReachedDirectly(t *testing.T) {
	const rows, cols = 2500, 1000
	body, turned := make([]byte, rows*cols), make([]byte, rows*cols)
	for k := range body {
		body[k] = byte(k * k >> 7)
		turned[k%cols*rows+k/cols] = body[k]
	}
	b, open := oneTensor(t, "U8", rows, cols, body)
	want := detail(t, b, open, "w", stats.DetailOptions{})

	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	w, err := z.Create("w.npy")
	if err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
	head += string(bytes.Repeat([]byte(" "), 117-len(head))) + "\n"
	fmt.Fprintf(w, "\x93NUMPY\x01\x00%c\x00%s%s", len(head), head, body)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	inflated, err := parser.Decode(b, bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		t.Fatal(err)
	}
	defer inflated.Close()
	view := &tensor.File{Name: "test", Source: bytes.NewReader(turned), Infos: []tensor.Info{{
		Name: "w", DType: tensor.U8, Shape: []int64{rows, cols}, Strides: []int64{1, rows}, Span: tensor.Span{Len: rows * cols},
	}}}
	for name, m := range map[string]tensor.Model{"inflated": inflated, "transposed": view} {
		got := detail(t, b, m, "w", stats.DetailOptions{})
		if got.Read != want.Read || got.Read == got.Elements {
			t.Errorf("%s: %d were read, want %d", name, got.Read, want.Read)
		}
		sameNumbers(t, name+": cell", got.Grid, want.Grid)
		sameNumbers(t, name+": norm", got.RowNorms, want.RowNorms)
		if !slices.Equal(got.Largest, want.Largest) {
			t.Errorf("%s: the largest are %v, want %v", name, got.Largest, want.Largest)
		}
	}
}

// A quantized weight is shown as it decodes, with the tensors that hold it.
func TestAWeightInDetail(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := parser.Open(b, "../testdata/demo/llama-fp8")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	bound, err := quant.Plan(b, m, quant.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range bound.Weights {
		raw := make([]byte, w.Size(quant.F32))
		if err := quant.Decode(b, m, w, raw, quant.F32); err != nil {
			t.Fatal(err)
		}
		values := make([]float64, len(raw)/4)
		for k := range values {
			values[k] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*k:])))
		}
		d := detail(t, b, m, w.Name, stats.DetailOptions{Whole: true, Bound: bound})
		sameDetail(t, d, values, int(w.Rows()), int(w.Cols()), func(int) bool { return true })
		if len(d.Parts) < 2 || d.Type != w.Scheme {
			t.Errorf("%s: %s of %d parts", w.Name, d.Type, len(d.Parts))
		}
		part := detail(t, b, m, d.Parts[0].Name, stats.DetailOptions{})
		if part.Elements != d.Elements && w.Name != d.Parts[0].Name {
			t.Errorf("the part %s has %d elements", part.Name, part.Elements)
		}
	}
	if _, err := stats.DetailOf(b, m, "none", stats.DetailOptions{}); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("a name that the model does not have: %v", err)
	}
}

// A detail is refused where the account does not pay for it.
func TestADetailIsPaid(t *testing.T) {
	_, m := oneTensor(t, "U8", 2000, 1000, make([]byte, 2000*1000))
	for name, p := range map[string]limits.Policy{"memory": {MaxTotalBytes: 4096}, "steps": {MaxSteps: 3}} {
		b := p.Budget(t.Context())
		if _, err := stats.DetailOf(b, m, "w", stats.DetailOptions{}); wire.ClassOf(err) != wire.Limit {
			t.Errorf("%s: %v", name, err)
		}
		b.Close()
	}
}
