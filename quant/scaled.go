package quant

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// A grid is where the scale of an element stands: one per block of rows and
// columns, row by row, and block rows begin anew with each matrix of a stack.
// A grid of one block is a scale of the whole tensor.
type grid struct {
	matrixRows int64 // rows of one matrix; the blocks of rows do not cross it
	blockRows  int64
	blockCols  int64
	cols       int64 // blocks in a row of the grid
	size       int64 // bytes of one stored number
	read       number
}

// row is the row of the grid that serves row r of the weight.
func (g *grid) row(r int64) int64 {
	return r/g.matrixRows*ceilDiv(g.matrixRows, g.blockRows) + r%g.matrixRows/g.blockRows
}

// need is the bytes of the grid for the rows [lo, hi).
func (g *grid) need(lo, hi int64) tensor.Span {
	first := g.row(lo)
	return tensor.Span{Off: first * g.cols * g.size, Len: (g.row(hi-1) + 1 - first) * g.cols * g.size}
}

// at reads the number for row r and block column k; p begins at the grid's row
// of weight row lo.
func (g *grid) at(p []byte, lo, r, k int64) float32 {
	return g.read(p, (g.row(r)-g.row(lo))*g.cols+k)
}

// op is what joins a code with its scale and its second number.
type op uint8

const (
	opScale  op = iota // q*s
	opShift            // (q-z)*s
	opAffine           // q*s + z, two roundings
	opDivide           // q/s
)

// scaled is codes in rows under a grid of scales and, if the op has one, a grid
// of second numbers. Parts: codes, scales, seconds.
type scaled struct {
	cols    int64
	codes   codes
	scales  grid
	seconds grid
	op      op
}

func (f *scaled) need(p int, lo, hi int64) tensor.Span {
	switch p {
	case 0:
		return tensor.Span{Off: lo * f.codes.rowBytes, Len: (hi - lo) * f.codes.rowBytes}
	case 1:
		return f.scales.need(lo, hi)
	default:
		return f.seconds.need(lo, hi)
	}
}

func (f *scaled) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for r := lo; r < hi; r++ {
		row := dst[(r-lo)*f.cols:][:f.cols]
		f.codes.unpack(row, parts[0][(r-lo)*f.codes.rowBytes:][:f.codes.rowBytes])
		for k := range f.scales.cols {
			block := row[k*f.scales.blockCols : min((k+1)*f.scales.blockCols, f.cols)]
			var second float32
			if f.op == opShift || f.op == opAffine {
				second = f.seconds.at(parts[2], lo, r, k)
			}
			f.op.apply(block, f.scales.at(parts[1], lo, r, k), second)
		}
	}
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
