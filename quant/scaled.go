package quant

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A grid is where the scale of an element stands: one per block of rows and
// columns, row by row, and block rows begin anew with each matrix of a stack.
// A grid of one block is a scale of the whole tensor.
type grid struct {
	matrixRows int64 // rows of one matrix; the blocks of rows do not cross it
	blockRows  int64
	blockCols  int64
	cols       int64 // stored numbers in a row of the grid
	size       int64 // bytes of one stored number
	read       number
	bulk       bulk  // many numbers at once, or nil
	whole      int64 // bytes of the part where every range takes it whole
	// line brings the bytes of numbers of a row together, from the k-th on, where
	// they do not follow each other.
	line func(dst, p []byte, row, k int64)
	// pick fills in numbers of a row, from the k-th on, that are fields of words; room
	// is a byte for each. It is nil or reports false where a field is in two words.
	pick func(o *asm.Ops, dst []float32, p []byte, row, k int64, room []byte) bool
}

// transposed reads a whole part whose rows are the groups and whose columns
// the rows of the weight.
func (g grid) transposed(rows, bytes int64) grid {
	read, groups, size := g.read, g.cols, g.size
	g.whole = bytes
	g.line = func(dst, p []byte, row, k int64) {
		for i := int64(0); i*size < int64(len(dst)); i++ {
			copy(dst[i*size:][:size], p[((k+i)*rows+row)*size:])
		}
	}
	g.read = func(p []byte, i int64) float32 { return read(p, i%groups*rows+i/groups) }
	return g
}

// groupGrid is one number per group of consecutive columns of each row.
func groupGrid(rows, cols, group, size int64, read number) grid {
	return grid{matrixRows: rows, blockRows: 1, blockCols: group, cols: cols / group, size: size, read: read}
}

// row is the row of the grid that serves row r of the weight.
func (g *grid) row(r int64) int64 {
	if g.blockRows == 1 {
		return r
	}
	return r/g.matrixRows*ceilDiv(g.matrixRows, g.blockRows) + r%g.matrixRows/g.blockRows
}

// need is the bytes of the grid for the rows [lo, hi).
func (g *grid) need(lo, hi int64) tensor.Span {
	if g.whole > 0 {
		return tensor.Span{Len: g.whole}
	}
	first := g.row(lo)
	return tensor.Span{Off: first * g.cols * g.size, Len: (g.row(hi-1) + 1 - first) * g.cols * g.size}
}

// at reads the number for row r and block column k; p begins at the grid's row
// of weight row lo.
func (g *grid) at(p []byte, lo, r, k int64) float32 {
	first := int64(0)
	if g.whole == 0 {
		first = g.row(lo)
	}
	return g.read(p, (g.row(r)-first)*g.cols+k)
}

// op is what joins a code with its scale and its second number.
type op uint8

const (
	opScale  op = iota // q*s
	opShift            // (q-z)*s
	opAffine           // q*s + z, two roundings
	opDivide           // q/s
)

// scaled is codes in rows under a grid of scales. Some have a second number
// beside each scale, some a factor or a divisor of all scales of a matrix, some
// say for each column which group it belongs to. Parts, those that are there:
// codes, scales, seconds, global, columns.
type scaled struct {
	own
	cols    int64
	codes   codes
	scales  grid
	seconds *grid
	global  *grid
	divides bool // the scale is divided by the global number, not multiplied
	columns bool // the last part is the group of each column, as int32
	op      op
}

func (f *scaled) need(p int, lo, hi int64) tensor.Span {
	if p == 0 {
		return f.codes.need(lo, hi)
	}
	for _, g := range [...]*grid{&f.scales, f.seconds, f.global} {
		if g == nil {
			continue
		}
		if p--; p == 0 {
			return g.need(lo, hi)
		}
	}
	return tensor.Span{Len: 4 * f.cols}
}

func (f *scaled) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for r := lo; r < hi; r++ {
		row := dst[(r-lo)*f.cols:][:f.cols]
		f.codes.row(row, parts[0], lo, r)
		f.scale(row, parts, lo, r, 0)
	}
}

// slices reports codes that can be cut at any column.
func (f *scaled) slices() bool { return f.codes.cut != nil }

func (f *scaled) slice(dst []float32, parts [][]byte, lo, r, col int64) {
	f.codes.slice(dst, parts[0], lo, r, col)
	f.scale(dst, parts, lo, r, col)
}

// scale turns the codes of row r, from column col on, into numbers.
func (f *scaled) scale(row []float32, parts [][]byte, lo, r, col int64) {
	if f.columns {
		index := parts[len(parts)-1]
		for c := range row {
			s, z := f.pair(parts, lo, r, int64(u32(index[4*(col+int64(c)):])))
			f.op.apply(row[c:c+1], s, z)
		}
		return
	}
	for len(row) > 0 {
		k := col / f.scales.blockCols
		n := min(int64(len(row)), (k+1)*f.scales.blockCols-col)
		s, z := f.pair(parts, lo, r, k)
		f.op.apply(row[:n], s, z)
		row, col = row[n:], col+n
	}
}

// pair is the scale and the second number of block k of row r.
func (f *scaled) pair(parts [][]byte, lo, r, k int64) (scale, second float32) {
	scale = f.scales.at(parts[1], lo, r, k)
	next := 2
	if f.seconds != nil {
		second = f.seconds.at(parts[next], lo, r, k)
		next++
	}
	switch {
	case f.global == nil:
	case f.divides:
		scale /= f.global.at(parts[next], lo, r, 0)
	default:
		scale *= f.global.at(parts[next], lo, r, 0)
	}
	return scale, second
}

func (o op) apply(block []float32, s, z float32) {
	switch o {
	case opScale:
		for i, q := range block {
			block[i] = q * s
		}
	case opShift:
		for i, q := range block {
			block[i] = float32(q-z) * s
		}
	case opAffine:
		for i, q := range block {
			block[i] = float32(q*s) + z
		}
	case opDivide:
		for i, q := range block {
			block[i] = q / s
		}
	}
}
