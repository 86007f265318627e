package form

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Matrix is a form with its numbers of rows and columns: everything needed to decode a
// weight in ranges of rows, and to choose the ranges. It is safe for concurrent use.
type Matrix struct {
	Form  Form
	Rows  int64 // of all matrices of a stack
	Cols  int64
	Parts int
}

// Group is how many rows share the bytes that [Matrix.Need] returns for any of them: rows
// k*Group to (k+1)*Group take the same bytes of every part, so callers that decode ranges
// should read them once. It is zero if rows have bytes of their own.
func (m Matrix) Group() int64 { return m.Form.Geometry().Group }

// Transposed reports whether rows are columns of what is stored.
func (m Matrix) Transposed() bool { return m.Form.Geometry().Transposed }

// Shared reports whether other weights use the parts too.
func (m Matrix) Shared() bool { return m.Form.Geometry().Shared }

// Even rounds the length of a range: ranges of rows that are columns should begin with
// whole groups of codes.
func (m Matrix) Even(rows int64) int64 {
	if rows > transposeUnit && m.Transposed() {
		rows -= rows % transposeUnit
	}
	return rows
}

// Step returns how many rows to decode at a time with scratch for this many numbers.
func (m Matrix) Step(numbers int64) int64 {
	rows := numbers / max(1, m.Cols)
	if m.Transposed() {
		rows = max(rows, numbers/transposeStep)
	}
	return max(1, m.Even(rows))
}

// Scratch returns how many numbers of scratch [Matrix.Decode] needs.
func (m Matrix) Scratch(rows int64) int64 {
	n := rows * m.Cols
	if m.Transposed() {
		n = min(n, transposeRoom+transposePerRow*rows)
	}
	return n
}

// Need returns the bytes of part p, from its start, that the rows [lo, hi) take.
func (m Matrix) Need(p int, lo, hi int64) tensor.Span { return m.Form.Need(p, lo, hi) }

// Decode writes the rows [lo, hi) in the type to. parts holds, for each part, the bytes
// that [Matrix.Need] returned; tile is scratch, see [Matrix.Scratch]. It allocates
// nothing.
func (m Matrix) Decode(dst []byte, to asm.Type, parts [][]byte, lo, hi int64, tile []float32) {
	m.decodeBy(request{asm.Best(), dst, to, parts, lo, hi, tile})
}

// decodeBy decodes with the kernels of q.o.
func (m Matrix) decodeBy(q request) {
	n := (q.hi - q.lo) * m.Cols
	if int64(len(q.scratch)) > n { // rows that are columns need less for long ranges
		q.scratch = q.scratch[:n]
	}
	put(m.Form, q.into(q.dst[:n*int64(q.to.Size())]))
}

// Numbers writes the rows [lo, hi) as float32, by the reference implementation of the
// kernels. It is otherwise like [Matrix.Decode].
func (m Matrix) Numbers(dst []float32, parts [][]byte, lo, hi int64) {
	m.Form.decode(dst[:(hi-lo)*m.Cols], parts, lo, hi)
}

// StripRows returns how many rows take at most this many bytes of their columns, at least
// one unit; zero if rows are not columns.
func (m Matrix) StripRows(most int64) int64 {
	f, ok := m.Form.(striped)
	if !ok || f.outputs() != m.Rows || m.Rows == 0 {
		return 0
	}
	_, columns := f.strip(0, min(StripUnit, m.Rows))
	var size int64
	for _, c := range columns[:m.Parts] {
		size += c.Size()
	}
	n := max(most/max(1, size), 1)
	if p, ok := m.Form.(boundedStrips); ok {
		return wholeStrips(p.matrixRows(), n)
	}
	return min(n*StripUnit, m.Rows)
}

// wholeStrips returns the largest number of rows, at most n strip units, that divides the
// rows of a matrix of a stack; zero if there is none.
func wholeStrips(rows, n int64) int64 {
	if rows%StripUnit != 0 {
		return 0
	}
	units := rows / StripUnit
	for n = min(n, units); n > 1 && units%n != 0; n-- {
	}
	return n * StripUnit
}

// Strip returns the rows [lo, hi) as a matrix of their own, and the columns that it takes
// of each part. lo is a multiple of [Matrix.StripRows], and so is hi unless it is the
// end.
func (m Matrix) Strip(lo, hi int64) (Matrix, []Columns, error) {
	f, ok := m.Form.(striped)
	if !ok || lo%StripUnit != 0 || hi != m.Rows && hi%StripUnit != 0 || lo < 0 || lo > hi || hi > m.Rows {
		return m, nil, wire.ErrInternal.Errorf("the rows %d to %d are not a strip", lo, hi)
	}
	inner, columns := f.strip(lo, hi)
	return Matrix{inner, hi - lo, m.Cols, m.Parts}, columns[:m.Parts], nil
}
