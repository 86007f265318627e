package quant

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Columns are those columns of a stored matrix that some rows of a weight take:
// Rows pieces of Len bytes, Stride bytes apart, the first of them Off bytes from
// the part's start.
type Columns struct{ Rows, Stride, Off, Len int64 }

// Size is the bytes of all pieces.
func (c Columns) Size() int64 { return c.Rows * c.Len }

// Read reads the pieces of a part into dst, which has [Columns.Size] bytes.
func (c Columns) Read(b *limits.Budget, part io.ReaderAt, dst []byte) error {
	for row := range c.Rows {
		if row%256 == 0 {
			if err := b.Err(); err != nil {
				return err
			}
		}
		if err := wire.ReadFull(part, dst[row*c.Len:][:c.Len], c.Off+row*c.Stride); err != nil {
			return err
		}
	}
	return nil
}

// stripUnit is the rows of a weight whose codes, of any width, fill whole words.
const stripUnit = 32

// striped is a form whose rows are columns of every part, or need it whole.
type striped interface {
	// strip is the form of the rows [lo, hi) alone, and what they take of the
	// parts; f.outputs() is how many rows there are.
	strip(lo, hi int64) (form, []Columns)
	outputs() int64
}

// StripRows is how many rows of a weight take at most so many bytes of its
// columns, or the fewest that can be parted; zero where its rows are no columns.
func (w *Weight) StripRows(most int64) int64 {
	f, ok := w.form.(striped)
	if !ok || f.outputs() != w.rows || w.rows == 0 {
		return 0
	}
	_, columns := f.strip(0, min(stripUnit, w.rows))
	var size int64
	for _, c := range columns[:len(w.Parts)] {
		size += c.Size()
	}
	n := most / max(1, size) * stripUnit
	return min(max(n, stripUnit), w.rows)
}

// Strip is some rows as a weight of their own, and what it takes of each part.
// lo is a multiple of [Weight.StripRows], hi too or the end.
func (w *Weight) Strip(lo, hi int64) (*Weight, []Columns, error) {
	f, ok := w.form.(striped)
	if !ok || lo%stripUnit != 0 || hi != w.rows && hi%stripUnit != 0 || lo < 0 || lo > hi || hi > w.rows {
		return nil, nil, wire.ErrInternal.With("the rows %d to %d are no strip", lo, hi)
	}
	s := *w
	var columns []Columns
	s.form, columns = f.strip(lo, hi)
	s.rows, s.Shape = hi-lo, []int64{hi - lo, w.cols}
	return &s, columns[:len(w.Parts)], nil
}

func (f *gptq) outputs() int64 { return f.out }

func (f *gptq) strip(lo, hi int64) (form, []Columns) {
	s, n := *f, hi-lo
	s.out = n
	return &s, []Columns{
		gptqWeight: columnsOf(f.in*f.bits/32, 4*f.out, 4*lo, 4*n),
		gptqScales: columnsOf(f.groups, f.out*f.scaleSize, lo*f.scaleSize, n*f.scaleSize),
		gptqZeros:  columnsOf(f.groups, f.out*f.bits/8, lo*f.bits/8, n*f.bits/8),
		gptqIndex:  columnsOf(1, 4*f.in, 0, 4*f.in),
	}
}

func (f *awq) outputs() int64 { return f.out }

func (f *awq) strip(lo, hi int64) (form, []Columns) {
	s, n := *f, hi-lo
	s.out = n
	return &s, []Columns{
		columnsOf(f.in, f.out*f.bits/8, lo*f.bits/8, n*f.bits/8),
		columnsOf(f.groups, f.out*f.scaleSize, lo*f.scaleSize, n*f.scaleSize),
		columnsOf(f.groups, f.out*f.bits/8, lo*f.bits/8, n*f.bits/8),
	}
}

// columnsOf joins pieces that touch.
func columnsOf(rows, stride, off, n int64) Columns {
	if n == stride {
		return Columns{1, rows * stride, 0, rows * n}
	}
	return Columns{rows, stride, off, n}
}
