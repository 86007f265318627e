package form

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// A Slicer is a form that can be read by columns: slice fills dst with the numbers of row
// r from column col on. parts begin with what row lo needs.
type Slicer interface {
	Form
	Slices() bool
	slice(dst []float32, parts [][]byte, lo, r, col int64)
}

// Transposed is matrices that are written transposed, possibly several of them side by
// side: row i of a written matrix is column i of each of its pieces, one after the other.
// Matrix m has the pieces [m*side, (m+1)*side).
//
// The bytes of a piece are in rows, so any range of a matrix takes all bytes of its
// pieces; see [Matrix.Group].
type Transposed struct {
	In, Out     int64 // rows and columns of a written matrix
	Side        int64
	Pieces      []Piece
	Interleaved bool // columns of the pieces alternate, instead of following each other
}

// A Piece is the rows [first, first+rows) of a form, whose parts are the weight's from
// part on.
type Piece struct {
	Form        Slicer
	First, Rows int64
	Part, Parts int
}

// piecesOf returns the pieces of the matrices that the written rows [lo, hi) belong to.
func (f *Transposed) piecesOf(lo, hi int64) []Piece {
	return f.Pieces[lo/f.In*f.Side : CeilDiv(hi, f.In)*f.Side]
}

func (f *Transposed) Geometry() Geometry { return Geometry{Group: f.In, Transposed: true} }

// Need returns the rows of one form from the first piece that uses the part to the last:
// pieces of several matrices may be rows of the same stack.
func (f *Transposed) Need(p int, lo, hi int64) tensor.Span {
	var first, last *Piece
	touched := f.piecesOf(lo, hi)
	for i := range touched {
		if q := &touched[i]; p >= q.Part && p < q.Part+q.Parts {
			if last = q; first == nil {
				first = q
			}
		}
	}
	if first == nil {
		return tensor.Span{}
	}
	return first.Form.Need(p-first.Part, first.First, last.First+last.Rows)
}

// decode is the reference for put, number by number.
func (f *Transposed) decode(dst []float32, parts [][]byte, lo, hi int64) {
	f.numbers(dst, parts, lo/f.In*f.Side, lo, hi)
}

// numbers is decode for parts that begin with what piece from needs.
func (f *Transposed) numbers(dst []float32, parts [][]byte, from, lo, hi int64) {
	for ; lo < hi; lo++ {
		f.columns(dst[:f.Out], parts, from, lo, lo+1)
		dst = dst[f.Out:]
	}
}

// columns fills dst with the rows [lo, hi) of one matrix, but column by column. parts
// begin with what piece from needs.
func (f *Transposed) columns(dst []float32, parts [][]byte, from, lo, hi int64) {
	n, m := hi-lo, lo/f.In
	step, between := n, int64(0)
	if f.Interleaved {
		step, between = n*f.Side, n
	}
	for k := range f.Side {
		q, before := &f.Pieces[m*f.Side+k], &f.Pieces[from+k]
		own := parts[q.Part : q.Part+q.Parts]
		at := k * between
		for r := range q.Rows {
			q.Form.slice(dst[at:at+n], own, q.base(before), q.First+r, lo-m*f.In)
			at += step
		}
		if !f.Interleaved {
			dst = dst[at:]
		}
	}
}

// base returns the row that the bytes begin with if those of an earlier piece are there
// too.
func (q *Piece) base(before *Piece) int64 {
	if before.Part == q.Part {
		return before.First
	}
	return q.First
}
