package form

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Columns are the columns of a stored matrix that some rows of a weight take: Rows pieces
// of Len bytes, Stride bytes apart, the first of them Off bytes from the part's start.
type Columns struct{ Rows, Stride, Off, Len int64 }

// Size returns the size of all pieces.
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

// StripUnit is a number of rows whose codes, of any width, fill whole words.
const StripUnit = 32

// A striped form has rows that are columns of every part, or that need the whole part.
type striped interface {
	// strip returns the form of the rows [lo, hi) alone, and the columns that they take
	// of the parts. outputs returns the number of rows.
	strip(lo, hi int64) (Form, []Columns)
	outputs() int64
}

// boundedStrips is a striped form of a stack, whose strips may not cross a matrix. matrixRows
// returns the number of rows of one.
type boundedStrips interface{ matrixRows() int64 }

var _ boundedStrips = (*FlippedStack)(nil)

func (f *PackedIn) outputs() int64 { return f.Out }

func (f *PackedIn) strip(lo, hi int64) (Form, []Columns) {
	s, n := *f, hi-lo
	s.Out = n
	return &s, []Columns{
		inWeight: columnsOf(f.In*f.Bits/32, 4*f.Out, 4*lo, 4*n),
		inScales: columnsOf(f.Groups, f.Out*f.ScaleSize, lo*f.ScaleSize, n*f.ScaleSize),
		inZeros:  columnsOf(f.Groups, f.Out*f.Bits/8, lo*f.Bits/8, n*f.Bits/8),
		inIndex:  columnsOf(1, 4*f.In, 0, 4*f.In),
	}
}

func (f *PackedOut) outputs() int64 { return f.Out }

func (f *PackedOut) strip(lo, hi int64) (Form, []Columns) {
	s, n := *f, hi-lo
	s.Out = n
	return &s, []Columns{
		columnsOf(f.In, f.Out*f.Bits/8, lo*f.Bits/8, n*f.Bits/8),
		columnsOf(f.Groups, f.Out*f.ScaleSize, lo*f.ScaleSize, n*f.ScaleSize),
		columnsOf(f.Groups, f.Out*f.Bits/8, lo*f.Bits/8, n*f.Bits/8),
	}
}

// columnsOf joins pieces that are adjacent.
func columnsOf(rows, stride, off, n int64) Columns {
	if n == stride {
		return Columns{1, rows * stride, 0, rows * n}
	}
	return Columns{rows, stride, off, n}
}
