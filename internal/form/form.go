package form

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Form is the layout of the numbers of one logical weight in its parts. It is plain
// arithmetic: a scheme has chosen the tensors and checked their sizes.
//
// A weight is rows of equal length. A weight of three dimensions has the rows of all its
// matrices, one after the other.
type Form interface {
	Geometry() Geometry
	// Need returns the bytes of part p, from the part's start, that the rows [lo, hi)
	// take. For some parts that is the whole part for any range.
	Need(p int, lo, hi int64) tensor.Span
	// decode fills dst with the rows [lo, hi) from the bytes that Need returned.
	decode(dst []float32, parts [][]byte, lo, hi int64)
	// direct writes rows by kernels, without a float32 copy. It returns false if it has
	// no kernel for this weight.
	direct(q request) bool
}

// A Geometry says how rows share bytes of the parts. In the zero Geometry each row has
// bytes of its own, in parts of this weight alone.
type Geometry struct {
	// Group is how many rows share the bytes that [Form.Need] returns for any of them:
	// the rows k*Group to (k+1)*Group take the same bytes of every part.
	Group int64
	// Transposed says that rows are columns of what is stored.
	Transposed bool
	// Shared says that other weights use the parts too.
	Shared bool
}

// independentRows is embedded by forms whose rows have bytes of their own.
type independentRows struct{}

func (independentRows) Geometry() Geometry { return Geometry{} }

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

// Codes is how the codes of a row are stored: in stored rows of rowBytes bytes, each of
// which holds perRow rows of the weight.
type Codes struct {
	rowBytes int64
	perRow   int64
	// pick unpacks row r; src begins with the first stored row that was asked for.
	pick func(dst []float32, src []byte, r int64)
	// cut unpacks the columns from c on of a stored row that holds one row, for reading a
	// transposed weight. It is nil for codes that cannot be cut at any column.
	cut func(dst []float32, row []byte, c int64)
	// Kernel decodes whole rows whose codes are numbers by themselves.
	Kernel kernel
	// decodeScaled decodes a row of codes under scales, one for each run of columns. It
	// is nil or returns false if there is no kernel.
	decodeScaled func(o *asm.Ops, to asm.Type, dst, row []byte, u rowScales) bool
	// bits is the width of a code if codes are adjacent, so that decodeScaled can take
	// several rows at once; else zero.
	bits int64
	// roomBytes is how many bytes decodeScaled needs for each code of a row; zero means
	// one.
	roomBytes int64
	// unpack writes each code of a row as a byte, minus less, which is zero for 8-bit
	// codes; room is as large as dst. Codes stand for integers: the code minus bias.
	// unpack is nil for other codes.
	unpack func(o *asm.Ops, less uint8, dst, row, room []byte)
	bias   int32
}

// PlainRows returns codes with one stored row per row.
func PlainRows(rowBytes int64, unpack func(dst []float32, src []byte)) Codes {
	return Codes{rowBytes: rowBytes, perRow: 1, pick: func(dst []float32, src []byte, r int64) {
		unpack(dst, src[r*rowBytes:(r+1)*rowBytes])
	}}
}

// scatteredRows returns codes of which any range of rows needs all bytes.
func scatteredRows(bytes, rows int64, pick func(dst []float32, src []byte, r int64)) Codes {
	return Codes{rowBytes: bytes, perRow: max(1, rows), pick: pick}
}

func (c *Codes) Need(lo, hi int64) tensor.Span {
	first := lo / c.perRow
	return tensor.Span{Off: first * c.rowBytes, Len: (CeilDiv(hi, c.perRow) - first) * c.rowBytes}
}

// row unpacks row r; src begins with what row lo needs.
func (c *Codes) row(dst []float32, src []byte, lo, r int64) {
	c.pick(dst, src, r-lo/c.perRow*c.perRow)
}

// slice unpacks the columns of row r from col on; src begins with what row lo needs.
func (c *Codes) slice(dst []float32, src []byte, lo, r, col int64) {
	c.cut(dst, src[(r-lo)*c.rowBytes:(r-lo+1)*c.rowBytes], col)
}

// NegativeZero is a constant, since Go has no literal for it.
var NegativeZero = float32(math.Copysign(0, -1))

// CeilDiv returns a/b rounded up, for positive numbers.
func CeilDiv(a, b int64) int64 { return (a + b - 1) / b }
