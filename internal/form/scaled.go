package form

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Grid says which scale an element has: one per block of rows and columns, stored row
// by row. Block rows start anew with each matrix of a stack. A Grid of one block is a
// scale of the whole tensor.
type Grid struct {
	MatrixRows int64 // rows of one matrix, which blocks do not cross
	BlockRows  int64
	BlockCols  int64
	Cols       int64 // stored numbers in a row of the grid
	Size       int64 // bytes of one stored number
	Read       Number
	Bulk       bulk  // converts many numbers, or nil
	Whole      int64 // size of the part if any range takes all of it, else 0
	// line gathers the bytes of numbers of a row, from the k-th on, if they are not
	// adjacent.
	line func(dst, p []byte, row, k int64)
	// pick reads numbers of a row, from the k-th on, that are fields of words; room has a
	// byte for each. It is nil or returns false if a field crosses words.
	pick func(o *asm.Ops, dst []float32, p []byte, row, k int64, room []byte) bool
}

// Transposed returns the grid of a part whose rows are the groups and whose columns are
// the rows of the weight.
func (g Grid) Transposed(rows, bytes int64) Grid {
	read, groups, size := g.Read, g.Cols, g.Size
	g.Whole = bytes
	g.line = func(dst, p []byte, row, k int64) {
		for i := int64(0); i*size < int64(len(dst)); i++ {
			copy(dst[i*size:][:size], p[((k+i)*rows+row)*size:])
		}
	}
	g.Read = func(p []byte, i int64) float32 { return read(p, i%groups*rows+i/groups) }
	return g
}

// GroupGrid returns a grid with a number for each group of consecutive columns of each
// row.
func GroupGrid(rows, cols, group, size int64, read Number) Grid {
	return Grid{MatrixRows: rows, BlockRows: 1, BlockCols: group, Cols: cols / group, Size: size, Read: read}
}

// row returns the row of the grid for row r of the weight.
func (g *Grid) row(r int64) int64 {
	if g.BlockRows == 1 {
		return r
	}
	return r/g.MatrixRows*CeilDiv(g.MatrixRows, g.BlockRows) + r%g.MatrixRows/g.BlockRows
}

// Need returns the bytes of the grid for the rows [lo, hi).
func (g *Grid) Need(lo, hi int64) tensor.Span {
	if g.Whole > 0 {
		return tensor.Span{Len: g.Whole}
	}
	first := g.row(lo)
	return tensor.Span{Off: first * g.Cols * g.Size, Len: (g.row(hi-1) + 1 - first) * g.Cols * g.Size}
}

// at reads the number for row r and block column k; p begins with the grid's row for row
// lo.
func (g *Grid) at(p []byte, lo, r, k int64) float32 {
	first := int64(0)
	if g.Whole == 0 {
		first = g.row(lo)
	}
	return g.Read(p, (g.row(r)-first)*g.Cols+k)
}

// Scaled is rows of codes under a grid of scales. There may be a zero point or minimum
// for each scale, a global factor or divisor of all scales of a matrix, and a group index
// for each column. Parts, if present: codes, scales, seconds, global, columns.
type Scaled struct {
	independentRows
	Cols    int64
	Codes   Codes
	Scales  Grid
	Seconds *Grid
	Global  *Grid
	Divides bool // divide the scale by the global number, instead of multiplying
	Columns bool // the last part is the group of each column, as int32
	Op      asm.Op
	Inverse bool // divide codes by their scale, q/s; Op is asm.Scale
	steps   func(float32) float32
}

// InSteps rounds the product of asm.Affine to t, and then the sum, as libraries do that
// compute in the type of the scales. It has no kernels. Types other than BF16 and F16 are
// computed in float32.
func (f *Scaled) InSteps(t tensor.DType) {
	switch t {
	case tensor.BF16:
		f.steps = func(x float32) float32 { return asm.BfloatToFloat(asm.FloatToBfloat(x)) }
	case tensor.F16:
		f.steps = func(x float32) float32 { return asm.HalfToFloat(asm.FloatToHalf(x)) }
	default:
		return
	}
	f.Codes.decodeScaled = nil
}

func (f *Scaled) Need(p int, lo, hi int64) tensor.Span {
	if p == 0 {
		return f.Codes.Need(lo, hi)
	}
	for _, g := range [...]*Grid{&f.Scales, f.Seconds, f.Global} {
		if g == nil {
			continue
		}
		if p--; p == 0 {
			return g.Need(lo, hi)
		}
	}
	return tensor.Span{Len: 4 * f.Cols}
}

func (f *Scaled) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for r := lo; r < hi; r++ {
		row := dst[(r-lo)*f.Cols:][:f.Cols]
		f.Codes.row(row, parts[0], lo, r)
		f.scale(row, parts, lo, r, 0)
	}
}

// Slices reports whether codes can be cut at any column.
func (f *Scaled) Slices() bool { return f.Codes.cut != nil }

func (f *Scaled) slice(dst []float32, parts [][]byte, lo, r, col int64) {
	f.Codes.slice(dst, parts[0], lo, r, col)
	f.scale(dst, parts, lo, r, col)
}

// scale applies the scales to the codes of row r, from column col on.
func (f *Scaled) scale(row []float32, parts [][]byte, lo, r, col int64) {
	if f.Columns {
		index := parts[len(parts)-1]
		for c := range row {
			s, z := f.pair(parts, lo, r, int64(U32(index[4*(col+int64(c)):])))
			f.applyScale(row[c:c+1], s, z)
		}
		return
	}
	for len(row) > 0 {
		k := col / f.Scales.BlockCols
		n := min(int64(len(row)), (k+1)*f.Scales.BlockCols-col)
		s, z := f.pair(parts, lo, r, k)
		f.applyScale(row[:n], s, z)
		row, col = row[n:], col+n
	}
}

// pair returns the scale and the zero point or minimum of block k of row r.
func (f *Scaled) pair(parts [][]byte, lo, r, k int64) (scale, second float32) {
	scale = f.Scales.at(parts[1], lo, r, k)
	next := 2
	if f.Seconds != nil {
		second = f.Seconds.at(parts[next], lo, r, k)
		next++
	}
	switch {
	case f.Global == nil:
	case f.Divides:
		scale /= f.Global.at(parts[next], lo, r, 0)
	default:
		scale *= f.Global.at(parts[next], lo, r, 0)
	}
	return scale, second
}

// applyScale combines codes with their scale and their zero point or minimum.
func (f *Scaled) applyScale(block []float32, s, z float32) {
	if f.Inverse {
		for i, q := range block {
			block[i] = q / s
		}
		return
	}
	if f.steps != nil {
		for i, q := range block {
			block[i] = f.steps(f.steps(q*s) + z)
		}
		return
	}
	applyOp(f.Op, block, s, z)
}

func applyOp(op asm.Op, block []float32, s, z float32) {
	switch op {
	case asm.Scale:
		for i, q := range block {
			block[i] = q * s
		}
	case asm.Shift:
		for i, q := range block {
			block[i] = float32(q-z) * s
		}
	case asm.Affine:
		for i, q := range block {
			block[i] = float32(q*s) + z
		}
	}
}
