package quant

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// A slicer is a form that can be read by columns: slice fills dst with the
// numbers of row r from column col on, from what the rows from lo need.
type slicer interface {
	form
	slices() bool
	slice(dst []float32, parts [][]byte, lo, r, col int64)
}

// turned is matrices that are written transposed, and some of them side by
// side: row i of a written matrix is column i of each of its pieces, one after
// the other. Matrix m has the pieces [m*side, (m+1)*side).
//
// Bytes of a piece lie in rows, so that every range of a matrix takes all bytes
// of its pieces: they are a group, see [Weight.Group].
type turned struct {
	in, out int64 // rows and columns of a written matrix
	side    int64
	pieces  []piece
	woven   bool // columns of the pieces take turns, instead of following each other
}

// A piece is the rows [first, first+rows) of a form, whose parts are those of
// the weight from part on.
type piece struct {
	form        slicer
	first, rows int64
	part, parts int
}

// touched is the matrices that the written rows [lo, hi) belong to.
func (f *turned) touched(lo, hi int64) []piece {
	return f.pieces[lo/f.in*f.side : ceilDiv(hi, f.in)*f.side]
}

func (f *turned) geometry() geometry { return geometry{group: f.in, transposed: true} }

// need is the rows of one form from the first piece that has the part to the
// last: pieces of several matrices may be rows of the same stack.
func (f *turned) need(p int, lo, hi int64) tensor.Span {
	var first, last *piece
	touched := f.touched(lo, hi)
	for i := range touched {
		if q := &touched[i]; p >= q.part && p < q.part+q.parts {
			if last = q; first == nil {
				first = q
			}
		}
	}
	if first == nil {
		return tensor.Span{}
	}
	return first.form.need(p-first.part, first.first, last.first+last.rows)
}

// decode is what the interface asks for, number by number: put is how weights
// are written.
func (f *turned) decode(dst []float32, parts [][]byte, lo, hi int64) {
	f.numbers(dst, parts, lo/f.in*f.side, lo, hi)
}

// numbers is decode where parts begin with what the piece from needs.
func (f *turned) numbers(dst []float32, parts [][]byte, from, lo, hi int64) {
	for ; lo < hi; lo++ {
		f.columns(dst[:f.out], parts, from, lo, lo+1)
		dst = dst[f.out:]
	}
}

// columns fills dst with what belongs to the rows [lo, hi) of one matrix, but
// column after column. parts begin with what the piece from needs.
func (f *turned) columns(dst []float32, parts [][]byte, from, lo, hi int64) {
	n, m := hi-lo, lo/f.in
	step, between := n, int64(0)
	if f.woven {
		step, between = n*f.side, n
	}
	for k := range f.side {
		q, before := &f.pieces[m*f.side+k], &f.pieces[from+k]
		own := parts[q.part : q.part+q.parts]
		at := k * between
		for r := range q.rows {
			q.form.slice(dst[at:at+n], own, q.base(before), q.first+r, lo-m*f.in)
			at += step
		}
		if !f.woven {
			dst = dst[at:]
		}
	}
}

// base is the row that the bytes begin with where those of an earlier piece are
// there too.
func (q *piece) base(before *piece) int64 {
	if before.part == q.part {
		return before.first
	}
	return q.first
}
