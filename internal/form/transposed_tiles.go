package form

import "github.com/anamnesis-go/anamnesis/asm"

// Rows of a transposed matrix are written from tiles: some columns of some rows of its
// pieces, decoded to the target's type and then transposed by a kernel.

// tileRows is how many rows of the pieces a tile has. That many numbers of each row are
// written at once, which fills cache lines.
const tileRows = 256

// transposeUnit is what ranges of a transposed matrix should be aligned to. Groups of
// codes are rarely longer.
const transposeUnit = 32

// transposeFloats is the scratch for a number of a tile, in floats: the number and its
// code. Interleaved pieces need one more.
const transposeFloats = 2

// The scratch for rows of a transposed matrix: a tile of several rows of the pieces, with
// twice the columns that are asked for. More rows of the matrix at a time mean longer
// reads of what is stored.
const (
	transposeRoom   = 56 << 10
	transposePerRow = 16 // twice what a number of each of two pieces takes, and more
	transposeStep   = 256
)

// A cutter is a Slicer that can decode columns of several rows at once by kernels. cut
// returns false if it has none.
type cutter interface {
	// span widens columns to those that the kernels take.
	span(col, n int64) (from, end int64)
	cut(q request, a area) bool
}

// An area is some columns of some rows of a piece.
type area struct {
	row, rows, col, cols int64
}

// direct writes the rows matrix by matrix. The scratch may be smaller than the range.
func (f *Transposed) direct(q request) bool {
	from, size := q.lo/f.In*f.Side, int64(q.to.Size())
	for q.lo < q.hi {
		end := min((q.lo/f.In+1)*f.In, q.hi)
		t := tileWriter{Transposed: f, request: q, from: from, n: end - q.lo}
		t.dst = q.dst[:t.n*f.Out*size]
		if !t.put() { // scratch for hardly a number
			f.numbers(q.scratch, q.parts, from, q.lo, end)
			q.o.Put(q.to, t.dst, q.scratch[:t.n*f.Out])
		}
		q.dst, q.lo = q.dst[t.n*f.Out*size:], end
	}
	return true
}

// A tileWriter writes n rows of one matrix from row lo on.
type tileWriter struct {
	*Transposed
	request
	from int64 // index of the piece that the parts begin with
	n    int64
}

func (t *tileWriter) put() bool {
	m := t.lo / t.In
	if t.Interleaved {
		return t.lane(m*t.Side, t.Side, 0)
	}
	col := int64(0)
	for k := m * t.Side; k < (m+1)*t.Side; k++ {
		if !t.lane(k, 1, col) {
			return false
		}
		col += t.Pieces[k].Rows
	}
	return true
}

// lane writes count pieces from first on, which are interleaved if there are several,
// from column at of the rows on.
func (t *tileWriter) lane(first, count, at int64) bool {
	size := int64(t.to.Size())
	col := t.lo % t.In
	from, end := t.span(first, count, col)
	w := end - from
	rows := min(int64(len(t.scratch))/(transposeFloats*w), tileRows)
	if count > 1 {
		rows = min(int64(len(t.scratch))/((transposeFloats+1)*w), tileRows) / count
	}
	if rows == 0 {
		return false
	}
	if rows > transposeUnit { // whole cache lines, and squares of the kernels
		rows -= rows % transposeUnit
	}
	words := CeilDiv(rows*count*w*size, 4)
	tile, rest := asm.Raw(t.scratch[:words]), t.scratch[words:]
	one, scratch := tile, rest
	if count > 1 {
		one, scratch = asm.Raw(rest[:CeilDiv(rows*w*size, 4)]), rest[CeilDiv(rows*w*size, 4):]
	}
	for r := int64(0); r < t.Pieces[first].Rows; r += rows {
		n := min(rows, t.Pieces[first].Rows-r)
		for k := range count {
			t.decode(one[:n*w*size], first+k, area{r, n, from, w}, scratch)
			for i := int64(0); i < n && count > 1; i++ {
				copy(tile[(i*count+k)*w*size:][:w*size], one[i*w*size:])
			}
		}
		t.o.Transpose(int(size), t.dst[(at+r*count)*size:], tile[(col-from)*size:], int(n*count), int(t.n), asm.Strides{To: int(t.Out * size), From: int(w * size)})
	}
	return true
}

// span returns the columns of tiles of the pieces.
func (t *tileWriter) span(first, count, col int64) (from, end int64) {
	from, end = col, col+t.n
	for k := first; k < first+count; k++ {
		if c, ok := t.Pieces[k].Form.(cutter); ok {
			lo, hi := c.span(col, t.n)
			from, end = min(from, lo), max(end, hi)
		}
	}
	return from, end
}

// decode writes an area of piece k.
func (t *tileWriter) decode(dst []byte, k int64, a area, scratch []float32) {
	p := &t.Pieces[k]
	base, own := p.base(&t.Pieces[t.from+k%t.Side]), t.parts[p.Part:p.Part+p.Parts]
	if c, ok := p.Form.(cutter); ok && c.cut(request{o: t.o, dst: dst, to: t.to, parts: own, lo: base, scratch: scratch}, area{p.First + a.row, a.rows, a.col, a.cols}) {
		return
	}
	numbers := scratch[:a.rows*a.cols]
	for i := range a.rows {
		p.Form.slice(numbers[i*a.cols:][:a.cols], own, base, p.First+a.row+i, a.col)
	}
	t.o.Put(t.to, dst, numbers)
}

// widenToGroups widens columns to whole groups, if they are in several groups that all
// begin and end at a multiple of unit, unless that is much more.
func widenToGroups(col, n, unit, group, most int64) (from, end int64) {
	if group > 1 && col/group != (col+n-1)/group {
		unit *= group / gcd(unit, group)
	}
	from, end = col/unit*unit, min(CeilDiv(col+n, unit)*unit, most)
	if end-from > 2*n+64 {
		return col, col + n
	}
	return from, end
}

func gcd(a, b int64) int64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// groupSpan returns the first group of the columns, how many columns each group has among
// them, and the number of groups; ok is false if a group is cut.
func groupSpan(col, n, group int64) (first, size, count int64, ok bool) {
	if col/group == (col+n-1)/group {
		return col / group, n, 1, true
	}
	return col / group, group, CeilDiv(n, group), col%group == 0
}

// span widens columns to whole bytes.
func (f *Scaled) span(col, n int64) (from, end int64) {
	unit := int64(8)
	if f.Columns {
		return widenToGroups(col, n, unit, 1, f.Cols)
	}
	if f.Codes.bits == 8 {
		unit = 1
	}
	return widenToGroups(col, n, unit, f.Scales.BlockCols, f.Cols)
}

// cut gathers the codes of the rows, and decodes them as one row.
func (f *Scaled) cut(q request, a area) bool {
	if f.Columns {
		return f.cutIndexed(q, a)
	}
	r, rows, col, n := a.row, a.rows, a.col, a.cols
	block, bits := f.Scales.BlockCols, f.Codes.bits
	if bits == 0 || f.Codes.decodeScaled == nil || f.Inverse || block < 2 || n*bits%8 != 0 || col*bits%8 != 0 {
		return false
	}
	first, run, per, ok := groupSpan(col, n, block)
	if !ok || n%run != 0 {
		return false
	}
	rowBytes := n * bits / 8
	words, room := CeilDiv(rows*rowBytes, 4), CeilDiv(rows*n, 4)
	if words+room+2*rows*per > int64(len(q.scratch)) {
		return false
	}
	codes, rest := asm.Raw(q.scratch[:words])[:rows*rowBytes], q.scratch[words:]
	u := rowScales{op: f.Op, codes: asm.Raw(rest[:room])[:rows*n], run: int(run), scales: rest[room:][:rows*per], seconds: rest[room+rows*per:][:rows*per]}
	for i := range rows {
		copy(codes[i*rowBytes:][:rowBytes], q.parts[0][(r+i-q.lo)*f.Codes.rowBytes+col*bits/8:])
	}
	f.fillRows(q, u, r, rows, first)
	return f.Codes.decodeScaled(q.o, q.to, q.dst, codes, u)
}

// fillRows is fill for several rows from row r on.
func (f *Scaled) fillRows(q request, u rowScales, r, rows, k int64) {
	if f.Global == nil && f.Scales.fillRows(q.o, u.scales, gridPos{q.parts[1], q.lo, r, k}, rows, u.codes) &&
		(f.Seconds == nil || f.Seconds.fillRows(q.o, u.seconds, gridPos{q.parts[2], q.lo, r, k}, rows, u.codes)) {
		return
	}
	per := int64(len(u.scales)) / rows
	for i := range rows {
		row := rowScales{scales: u.scales[i*per:][:per], seconds: u.seconds[i*per:][:per], codes: u.codes}
		if i > 0 && !f.newScales(r+i) {
			copy(row.scales, u.scales[(i-1)*per:])
			copy(row.seconds, u.seconds[(i-1)*per:])
			continue
		}
		f.fill(q.o, row, q.parts, q.lo, r+i, k)
	}
}
