package stats

import (
	"cmp"
	"encoding/binary"
	"io"
	"math"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/elements"
	"github.com/anamnesis-go/anamnesis/internal/number"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// How finely a Detail divides a tensor, and how many elements it lists.
const (
	gridRows, gridCols = 64, 96
	normGroups         = 256
	firstMany          = 64
	largestMany        = 16
)

// SampleElements is about how many elements a sample reads of a large tensor.
const SampleElements = 1 << 20

// A Detail is what a person looks at in one tensor. Seen as a matrix, a tensor has its last
// dimension as columns and all others as rows.
type Detail struct {
	Tensor
	// Read is the number of elements that were read: Elements, or fewer of a sample, which is of
	// whole rows at equal distances. The statistics are those of what was read.
	Read       int64
	Rows, Cols int64
	// Grid has the mean magnitude of the finite numbers of each cell, row by row. A cell that was
	// not read, or has no finite number, is NaN.
	Grid               []float64
	GridRows, GridCols int
	// RowNorms and ColNorms are root mean squares of rows and of columns, or of groups of
	// neighbours if there are more than 256. They are NaN like the cells of Grid.
	RowNorms, ColNorms []float64
	// Values are the first elements of the tensor.
	Values []float64
	// Largest are the numbers of the largest magnitude, the largest first.
	Largest []Element
	// Parts are the stored tensors that hold a quantized weight.
	Parts []tensor.Info
}

// An Element is a number at its row-major index.
type Element struct {
	Index int64
	Value float64
}

// DetailOptions say how one tensor is read. The zero value reads a sample.
type DetailOptions struct {
	// Whole reads all elements.
	Whole bool
	// Stored reads a tensor as it is stored, though its name is that of a weight too.
	Stored bool
	// Bound is the model's plan, if the caller has one: without it, DetailOf makes it.
	Bound *quant.Bound
	// Done, if set, is called with the elements that were read, and with all.
	Done func(read, of int64)
}

// DetailOf reads one tensor or weight by its name. A weight has its name in the unquantized
// model; a part of it is read as it is stored. The error of a name that the model does not have
// is of class unsupported.
func DetailOf(b *limits.Budget, m tensor.Model, name string, o DetailOptions) (d *Detail, err error) {
	defer placed(&err)
	r := &detailReader{b: b, m: m, o: o}
	if !o.Stored {
		w, err := r.find(name)
		if err != nil {
			return nil, err
		}
		if w != nil {
			return r.read(&item{weight: w})
		}
	}
	for i := range m.Tensors() {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		if i.Name == name {
			return r.read(&item{info: i})
		}
	}
	return nil, wire.ErrUnsupported.Errorf("there is no tensor %s", wire.Quote(name))
}

// find returns the weight of a name, or nil.
func (r *detailReader) find(name string) (*quant.Weight, error) {
	bound := r.o.Bound
	if bound == nil {
		var err error
		if bound, err = quant.Plan(r.b, r.m, quant.Options{}); err != nil {
			return nil, err
		}
	}
	for _, w := range bound.Weights {
		if err := r.b.Step(1); err != nil {
			return nil, err
		}
		if w.Name == name {
			return w, nil
		}
	}
	return nil, nil
}

// A detailReader reads one tensor.
type detailReader struct {
	b *limits.Budget
	m tensor.Model
	o DetailOptions
	d Detail

	counts counts
	cells  []mean // of the grid
	rows   []mean // squares of a group of rows
	cols   []mean
	first  int64   // index of the first number that is not finite, or -1
	least  float64 // magnitude of the last of Largest
}

// A mean is a sum of finite numbers, and how many they are.
type mean struct {
	sum float64
	n   int64
}

func (m *mean) add(sum float64, n int64) { m.sum, m.n = m.sum+sum, m.n+n }

func (m *mean) value() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.sum / float64(m.n)
}

func (r *detailReader) read(i *item) (*Detail, error) {
	w := i.weight
	if w == nil {
		r.d.Tensor = Tensor{Name: i.info.Name, Type: i.info.TypeName(), Shape: i.info.Shape, Elements: i.info.Elements()}
	} else {
		r.d.Tensor = Tensor{Name: w.Name, Type: typeOf(w), Shape: w.Shape, Elements: w.Rows() * w.Cols(), Numbers: true}
		r.d.Parts = slices.Concat(w.Parts, w.Extra)
	}
	d := &r.d
	d.Cols = 1
	if n := len(d.Shape); n > 0 {
		d.Cols = d.Shape[n-1]
	}
	if d.Cols > 0 {
		d.Rows = d.Elements / d.Cols
	}
	r.first = -1
	if d.Elements == 0 {
		return d, nil
	}
	account := r.b.Probe() // what reading needs is given back
	defer account.Close()
	if err := r.room(account); err != nil {
		return nil, err
	}
	var err error
	if w != nil {
		err = r.weight(account, w)
	} else {
		d.Numbers, err = r.tensor(account, &i.info)
	}
	if err != nil {
		return nil, located(r.m, d.Name, err)
	}
	if !d.Numbers {
		return d, nil
	}
	return d, r.finish()
}

func (r *detailReader) room(b *limits.Budget) (err error) {
	d := &r.d
	d.GridRows, d.GridCols = int(min(d.Rows, gridRows)), int(min(d.Cols, gridCols))
	if r.cells, err = limits.Make[mean](b, d.GridRows*d.GridCols); err != nil {
		return err
	}
	if r.rows, err = limits.Make[mean](b, int(min(d.Rows, normGroups))); err != nil {
		return err
	}
	r.cols, err = limits.Make[mean](b, int(min(d.Cols, normGroups)))
	return err
}

// wanted returns how many rows are read. A sample has at least one of each row of the grid.
func (r *detailReader) wanted() int64 {
	if r.o.Whole || r.d.Elements <= SampleElements {
		return r.d.Rows
	}
	return min(r.d.Rows, max(SampleElements/r.d.Cols, gridRows))
}

// weight decodes rows of a weight.
func (r *detailReader) weight(b *limits.Budget, w *quant.Weight) error {
	rows, err := quant.NewRows(b, r.m, w, quant.F32, 0)
	if err != nil {
		return err
	}
	defer rows.Close()
	cols := w.Cols()
	size := rows.Most()
	n := r.wanted()
	sampled := n < r.d.Rows
	if sampled {
		size = cols * 4
	}
	p, err := limits.Make[byte](b, int(size))
	if err != nil {
		return err
	}
	tile, err := limits.Make[float32](b, len(p)/4)
	if err != nil {
		return err
	}
	for k := int64(0); ; k++ {
		if err := b.Step(1); err != nil {
			return err
		}
		if sampled {
			if k == n {
				return nil
			}
			rows.Goto(spread(k, n, r.d.Rows))
		}
		at := rows.At() * cols
		got, err := rows.Next(p)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		t := tile[:got/4]
		for k := range t {
			t[k] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*k:]))
		}
		r.counts.floats(t)
		see(r, at, t)
		r.done()
	}
}

// spread returns item k of n that lie at equal distances among all.
func spread(k, n, all int64) int64 {
	hi, lo := all/n, all%n
	return k*hi + k*lo/n
}

// tensor reads a tensor's own elements; it returns false if they are not numbers.
func (r *detailReader) tensor(b *limits.Budget, i *tensor.Info) (bool, error) {
	p := pieces{r: r, info: i, load: number.Of(i.DType)}
	p.codec, p.floats = quant.CodecOf(i.DType)
	p.floats = p.floats && i.DType != tensor.F64
	if !p.floats && p.load == nil {
		return false, nil
	}
	if err := p.open(b); err != nil {
		return false, err
	}
	defer p.src.Close()
	// A row that does not begin with a block cannot be reached alone.
	g, _ := i.DType.Geometry()
	rows := r.wanted()
	if rows < r.d.Rows && r.d.Cols%int64(g.Elems) != 0 {
		rows = r.d.Rows
	}
	if rows == r.d.Rows {
		return true, p.read(b, 0, r.d.Elements)
	}
	for k := range rows {
		if err := b.Step(1); err != nil {
			return false, err
		}
		if err := p.read(b, spread(k, rows, r.d.Rows)*r.d.Cols, r.d.Cols); err != nil {
			return false, err
		}
	}
	return true, nil
}

// pieces reads a tensor's own elements, a piece at a time.
type pieces struct {
	r      *detailReader
	info   *tensor.Info
	src    elements.Stored
	at     int64 // the next element of src
	codec  quant.Codec
	floats bool // the codec decodes the type to float32
	load   number.Loader

	bytes  []byte
	tile   []float32
	values []number.Value
	wide   []float64
}

func (p *pieces) open(b *limits.Budget) (err error) {
	if p.bytes, err = limits.Make[byte](b, pieceElements*16); err != nil {
		return err
	}
	if p.tile, err = limits.Make[float32](b, pieceElements); err != nil {
		return err
	}
	if p.values, err = limits.Make[number.Value](b, pieceElements); err != nil {
		return err
	}
	if p.wide, err = limits.Make[float64](b, pieceElements); err != nil {
		return err
	}
	p.src, err = elements.Open(b, p.r.m, *p.info)
	return err
}

// read reads n elements from one on.
func (p *pieces) read(b *limits.Budget, from, n int64) error {
	if err := p.src.Skip(b, from-p.at); err != nil {
		return err
	}
	for p.at = from; p.at < from+n; {
		if err := b.Step(1); err != nil {
			return err
		}
		k := min(from+n-p.at, pieceElements)
		if err := p.piece(k); err != nil {
			return err
		}
		p.at += k
	}
	return nil
}

// piece reads the next n elements.
func (p *pieces) piece(n int64) error {
	raw := p.bytes[:elements.Size(p.info.DType, n)]
	if err := p.src.Read(raw); err != nil {
		return err
	}
	if p.floats {
		p.codec.Decode(p.tile[:whole(p.info.DType, int64(len(raw)))], raw)
		p.r.counts.floats(p.tile[:n])
		see(p.r, p.at, p.tile[:n])
	} else {
		p.load(p.values[:n], raw, p.tile)
		p.r.counts.values(p.values[:n])
		for k := range p.values[:n] {
			p.wide[k] = p.values[k].F
		}
		see(p.r, p.at, p.wide[:n])
	}
	p.r.done()
	return nil
}

func (r *detailReader) done() {
	if r.o.Done != nil {
		r.o.Done(r.counts.seen, r.d.Elements)
	}
}

// see takes numbers in row-major order, the first of which has an index.
func see[T float32 | float64](r *detailReader, index int64, p []T) {
	d := &r.d
	for len(p) > 0 {
		row, col := index/d.Cols, index%d.Cols
		n := min(int64(len(p)), d.Cols-col)
		squares := &r.rows[group(row, d.Rows, len(r.rows))]
		cells := r.cells[group(row, d.Rows, d.GridRows)*d.GridCols:]
		for at := col; at < col+n; { // numbers of one cell and one group of columns
			cell, column := group(at, d.Cols, d.GridCols), group(at, d.Cols, len(r.cols))
			end := min(col+n, begin(cell+1, d.Cols, d.GridCols), begin(column+1, d.Cols, len(r.cols)))
			sum, square, finite := seeRun(r, index+at-col, p[at-col:end-col])
			cells[cell].add(sum, finite)
			r.cols[column].add(square, finite)
			squares.add(square, finite)
			at = end
		}
		p, index = p[n:], index+n
	}
}

// seeRun sums the magnitudes and the squares of numbers of one cell.
func seeRun[T float32 | float64](r *detailReader, index int64, p []T) (sum, square float64, finite int64) {
	d := &r.d
	for k, x := range p {
		f, at := float64(x), index+int64(k)
		if at < firstMany {
			d.Values = append(d.Values, f)
		}
		if f-f != 0 {
			if r.first < 0 {
				r.first = at
			}
			continue
		}
		abs := math.Abs(f)
		sum += abs
		square += float64(f * f)
		finite++
		if len(d.Largest) < largestMany || abs > r.least {
			r.keep(Element{at, f})
		}
	}
	return sum, square, finite
}

// group returns in which of some groups of neighbours an item lies. Items are at most 2^50.
func group(item, items int64, groups int) int { return int(item * int64(groups) / items) }

// begin returns the first item of a group.
func begin(g int, items int64, groups int) int64 {
	return (int64(g)*items + int64(groups) - 1) / int64(groups)
}

// keep adds an element to the largest.
func (r *detailReader) keep(e Element) {
	list := r.d.Largest
	at, _ := slices.BinarySearchFunc(list, e, func(a, b Element) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Value), math.Abs(a.Value)), cmp.Compare(a.Index, b.Index))
	})
	if len(list) == largestMany {
		list = list[:largestMany-1]
	}
	r.d.Largest = slices.Insert(list, at, e)
	r.least = math.Abs(r.d.Largest[len(r.d.Largest)-1].Value)
}

func (r *detailReader) finish() error {
	d := &r.d
	d.Read = r.counts.seen
	if err := r.counts.finish(r.b, &d.Tensor); err != nil {
		return err
	}
	d.First = r.first
	var err error
	if d.Grid, err = limits.Make[float64](r.b, len(r.cells)); err != nil {
		return err
	}
	for k := range r.cells {
		d.Grid[k] = r.cells[k].value()
	}
	if d.RowNorms, err = norms(r.b, r.rows); err != nil {
		return err
	}
	d.ColNorms, err = norms(r.b, r.cols)
	return err
}

func norms(b *limits.Budget, squares []mean) ([]float64, error) {
	out, err := limits.Make[float64](b, len(squares))
	for k := range out {
		out[k] = math.Sqrt(squares[k].value())
	}
	return out, err
}
