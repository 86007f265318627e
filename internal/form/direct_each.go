package form

import "github.com/anamnesis-go/anamnesis/asm"

// If every number of a row has a scale of its own, the codes are decoded without scales
// first and then combined with them.

// A row is the scratch for one row of a weight.
type row struct {
	numbers, scales, seconds []float32 // one for each column
	codes                    []byte    // at least one byte for each column
	one, none                []float32 // unit scale and zero point
}

// newRow divides scratch; ok is false if there is too little.
func newRow(cols, rooms int64, scratch []float32) (w row, ok bool) {
	words := CeilDiv(max(1, rooms)*cols, 4)
	if 3*cols+words+2 > int64(len(scratch)) {
		return w, false
	}
	w = row{
		numbers: scratch[:cols], scales: scratch[cols : 2*cols], seconds: scratch[2*cols : 3*cols],
		codes: asm.Raw(scratch[3*cols:][:words]),
		one:   scratch[3*cols+words:][:1], none: scratch[3*cols+words+1:][:1],
	}
	w.one[0], w.none[0] = 1, 0
	return w, true
}

// plain decodes the codes of row r without scales.
func (f *Scaled) plain(o *asm.Ops, w *row, parts [][]byte, lo, r int64) bool {
	if o.Level() == asm.Generic { // Generic runs on any byte order
		f.Codes.row(w.numbers, parts[0], lo, r)
		return true
	}
	u := rowScales{scales: w.one, seconds: w.none, run: len(w.numbers), codes: w.codes, sub: r % f.Codes.perRow}
	return f.Codes.decodeScaled(o, asm.F32, asm.Raw(w.numbers), f.stored(parts[0], lo, r), u)
}

// stored returns the stored row of row r.
func (f *Scaled) stored(p []byte, lo, r int64) []byte {
	if f.Codes.perRow == 1 {
		return p[(r-lo)*f.Codes.rowBytes:][:f.Codes.rowBytes]
	}
	return p[(r/f.Codes.perRow-lo/f.Codes.perRow)*f.Codes.rowBytes:][:f.Codes.rowBytes]
}

// directColumns decodes rows with a scale for each column.
func (f *Scaled) directColumns(q request) bool {
	w, ok := newRow(f.Cols, f.Codes.roomBytes, q.scratch)
	if !ok || f.Inverse || f.Op > asm.Shift {
		return false
	}
	clear(w.seconds)
	size := f.Cols * int64(q.to.Size())
	for r := q.lo; r < q.hi; r++ {
		if r == q.lo || f.newScales(r) {
			f.fill(q.o, rowScales{scales: w.scales, seconds: w.seconds, codes: w.codes}, q.parts, q.lo, r, 0)
		}
		if !f.plain(q.o, &w, q.parts, q.lo, r) {
			return false
		}
		q.o.Each(q.to, q.dst[(r-q.lo)*size:][:size], w.numbers, w.scales, w.seconds)
	}
	return true
}
