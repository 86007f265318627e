package form

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Form is how the numbers of one logical weight lie in its parts. It is plain
// arithmetic: which tensors are the parts, and that their sizes fit, a scheme
// has decided before.
//
// A weight is rows of equal length; a weight of three dimensions has the rows
// of all its matrices, one after the other.
type Form interface {
	Geometry() Geometry
	// Need says which bytes of part p the rows [lo, hi) take, counted from the
	// part's start. A part that every range takes whole is needed whole.
	Need(p int, lo, hi int64) tensor.Span
	// decode fills dst with the rows [lo, hi) from the bytes that Need named.
	decode(dst []float32, parts [][]byte, lo, hi int64)
	// direct writes rows by kernels, without a tile of float32 between. It reports
	// false where it has none for this weight.
	direct(q request) bool
}

// A Geometry is how the rows of a form lie in its parts. Most have bytes of their
// own, from parts that belong to this weight alone: that is the zero Geometry.
type Geometry struct {
	// Group is how many rows share the bytes that [Form.Need] names for any of them: the
	// rows k*group to (k+1)*group take the same of every part.
	Group int64
	// Transposed says that rows are columns of what is stored.
	Transposed bool
	// Shared says that other weights have the parts too.
	Shared bool
}

// own is embedded by forms whose rows have bytes of their own.
type own struct{}

func (own) Geometry() Geometry { return Geometry{} }

// A Number reads element i of a part as float32.
type Number func(p []byte, i int64) float32

// Numbers are the types that scales, zero points and biases are stored in.
var Numbers = map[tensor.DType]Number{
	tensor.F32:    readF32,
	tensor.F16:    func(p []byte, i int64) float32 { return half(p[2*i:]) },
	tensor.BF16:   func(p []byte, i int64) float32 { return asm.BfloatToFloat(u16(p[2*i:])) },
	tensor.F8E8M0: func(p []byte, i int64) float32 { return e8m0(p[i]) },
	tensor.F8E4M3: func(p []byte, i int64) float32 { return asm.E4M3.Value(p[i]) },
	tensor.I8:     func(p []byte, i int64) float32 { return float32(int8(p[i])) },
	tensor.U8:     func(p []byte, i int64) float32 { return float32(p[i]) },
}

func readF32(p []byte, i int64) float32 { return math.Float32frombits(U32(p[4*i:])) }

// ExponentByte reads an E8M0 that is stored as a plain byte: the libraries
// compute 2^(e-127), which makes FF infinite and not NaN.
func ExponentByte(p []byte, i int64) float32 {
	if p[i] == 0xFF {
		return float32(math.Inf(1))
	}
	return e8m0(p[i])
}

// Codes says how the codes of a row are stored: in stored rows of rowBytes
// bytes, each of which holds perRow rows of the weight.
type Codes struct {
	rowBytes int64
	perRow   int64
	// pick unpacks row r of the rows whose stored rows src holds.
	pick func(dst []float32, src []byte, r int64)
	// cut unpacks the columns from c on of a stored row of one row: what a
	// transposed reading takes. Not all codes can be cut anywhere: it may be nil.
	cut func(dst []float32, row []byte, c int64)
	// Kernel decodes whole rows, where the codes are numbers by themselves.
	Kernel kernel
	// under decodes a row of codes under scales, one for each run of columns.
	// It is nil or reports false where there is no kernel.
	under func(o *asm.Ops, to asm.Type, dst, row []byte, u under) bool
	// Bits is the width of a code where codes follow each other without gaps, so
	// that under takes those of several rows too; else zero.
	bits int64
	// rooms is how many times a row's codes, a byte each, under needs room for:
	// once where it is zero.
	rooms int64
	// unpack gives each code of a row a byte, less what is taken off it, which is
	// nothing for codes of eight bits; room is as large as dst. It is nil but for
	// whole numbers, which are bias more than what they stand for.
	unpack func(o *asm.Ops, less uint8, dst, row, room []byte)
	bias   int32
}

// PlainRows is one stored row per row.
func PlainRows(rowBytes int64, unpack func(dst []float32, src []byte)) Codes {
	return Codes{rowBytes: rowBytes, perRow: 1, pick: func(dst []float32, src []byte, r int64) {
		unpack(dst, src[r*rowBytes:(r+1)*rowBytes])
	}}
}

// mixedRows is codes of which every range of rows takes all bytes.
func mixedRows(bytes, rows int64, pick func(dst []float32, src []byte, r int64)) Codes {
	return Codes{rowBytes: bytes, perRow: max(1, rows), pick: pick}
}

func (c *Codes) Need(lo, hi int64) tensor.Span {
	first := lo / c.perRow
	return tensor.Span{Off: first * c.rowBytes, Len: (CeilDiv(hi, c.perRow) - first) * c.rowBytes}
}

// row unpacks row r from the bytes that the rows from lo need.
func (c *Codes) row(dst []float32, src []byte, lo, r int64) {
	c.pick(dst, src, r-lo/c.perRow*c.perRow)
}

// slice unpacks columns from col on of row r from the bytes that the rows from lo
// need.
func (c *Codes) slice(dst []float32, src []byte, lo, r, col int64) {
	c.cut(dst, src[(r-lo)*c.rowBytes:(r-lo+1)*c.rowBytes], col)
}

// NegativeZero is what a decoded minus zero must stay.
var NegativeZero = float32(math.Copysign(0, -1))

// CeilDiv is a/b rounded up, for positive numbers.
func CeilDiv(a, b int64) int64 { return (a + b - 1) / b }
