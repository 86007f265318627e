package form

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// A FlippedStack is a sequence of matrices, each stored as its transpose.
type FlippedStack struct {
	Flipped
	Matrices int64
}

func (f *FlippedStack) Geometry() Geometry { return Geometry{Group: f.Rows} }

// matrixBytes returns the size of one matrix.
func (f *FlippedStack) matrixBytes() int64 { return f.Rows * f.Cols * f.Size }

// Need returns the span of all matrices that the rows belong to.
func (f *FlippedStack) Need(_ int, lo, hi int64) tensor.Span {
	first := lo / f.Rows
	return tensor.Span{Off: first * f.matrixBytes(), Len: (CeilDiv(hi, f.Rows) - first) * f.matrixBytes()}
}

// matrices calls call for the rows of each matrix in [lo, hi), with the matrix' bytes.
func (f *FlippedStack) matrices(parts [][]byte, lo, hi int64, call func(part []byte, from, lo, hi int64) bool) bool {
	first := lo / f.Rows
	for from := lo; from < hi; {
		m := from / f.Rows
		end := min((m+1)*f.Rows, hi)
		if !call(parts[0][(m-first)*f.matrixBytes():][:f.matrixBytes()], from-lo, from-m*f.Rows, end-m*f.Rows) {
			return false
		}
		from = end
	}
	return true
}

func (f *FlippedStack) decode(dst []float32, parts [][]byte, lo, hi int64) {
	f.matrices(parts, lo, hi, func(part []byte, from, lo, hi int64) bool {
		f.Flipped.decode(dst[from*f.Cols:], [][]byte{part}, lo, hi)
		return true
	})
}

func (f *FlippedStack) direct(q request) bool {
	row := f.Cols * int64(q.to.Size())
	return f.matrices(q.parts, q.lo, q.hi, func(part []byte, from, lo, hi int64) bool {
		one := q
		one.dst, one.parts, one.lo, one.hi = q.dst[from*row:][:(hi-lo)*row], [][]byte{part}, lo, hi
		return f.Flipped.direct(one)
	})
}

func (f *FlippedStack) outputs() int64 { return f.Rows * f.Matrices }

// matrixRows returns the rows of a matrix, which strips may not cross.
func (f *FlippedStack) matrixRows() int64 { return f.Rows }

// strip returns the form of rows of one matrix, which are columns of its bytes.
func (f *FlippedStack) strip(lo, hi int64) (Form, []Columns) {
	m, n := lo/f.Rows, hi-lo
	s := f.Flipped
	s.Rows = n
	c := columnsOf(f.Cols, f.Rows*f.Size, (lo-m*f.Rows)*f.Size, n*f.Size)
	c.Off += m * f.matrixBytes()
	return &s, []Columns{c}
}
