package scaled

import (
	"fmt"
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
)

// A Code is how one number is stored.
type Code uint8

// The codes. Integers of four bits are packed two in a byte, the first in the low
// half, each plus 8.
const (
	E4M3 Code = iota
	E5M2
	Int8
	Int4
	Int8Packed // as Int4, each plus 128
)

// Bits returns the size of a code.
func (c Code) Bits() int {
	if c == Int4 {
		return 4
	}
	return 8
}

// Packed reports whether the codes of a row are packed into 32-bit words.
func (c Code) Packed() bool { return c >= Int4 }

// halfRange returns half the distance between the smallest and the largest code.
func (c Code) halfRange() float32 { return [...]float32{448, 57344, 127.5, 7.5, 127.5}[c] }

// A Precision says what a library rounds to float32 alone, and not to the type of the weights.
type Precision uint8

// The precisions.
const (
	OfType    Precision = iota // nothing
	WideCodes                  // codes; scales are stored in float32
	WideAll                    // scales and codes
)

// A Format is how a matrix is stored.
type Format struct {
	Name   string // as on the command line
	Layout string // for people
	Code   Code
	// Rows and Cols are the block of numbers under one scale; Cols 0 is a whole row.
	Rows, Cols int64
	Inverse    bool // see the package comment
	Precision  Precision
	// Reciprocal says that numbers are multiplied by the reciprocal of a scale, which is at least
	// the machine epsilon of float32.
	Reciprocal bool
	// Whole says that the matrix must be divided into whole blocks.
	Whole bool
}

// Fits reports whether a matrix can be divided into blocks.
func (f *Format) Fits(rows, cols int64) bool {
	return !f.Whole || rows%f.Rows == 0 && (f.Cols == 0 || cols%f.Cols == 0)
}

// Wide reports whether the library computes codes in float32 whatever the type of the
// weights, and stores scales in it.
func (f *Format) Wide() bool { return f.Inverse || f.Precision != OfType }

// RowBytes returns the size of a row's codes.
func (f *Format) RowBytes(cols int64) int64 {
	if f.Code.Packed() {
		return (cols*int64(f.Code.Bits()) + 31) / 32 * 4
	}
	return cols
}

// Scales returns the number of scales in a row of blocks.
func (f *Format) Scales(cols int64) int64 {
	if f.Cols == 0 {
		return 1
	}
	return (cols + f.Cols - 1) / f.Cols
}

// A Bad error is about a number that cannot be quantized.
type Bad struct {
	Index int64 // in the given range
	Value float32
}

// Finite reports whether the number is finite, and only the scale of its block is not.
func (e *Bad) Finite() bool { return isFinite(e.Value) }

func (e *Bad) Error() string { return fmt.Sprintf("element %d is %v", e.Index, e.Value) }

// round rounds x to the type of the model's weights.
func round(d asm.Type, x float32) float32 {
	switch d {
	case asm.BF16:
		return asm.BfloatToFloat(asm.FloatToBfloat(x))
	case asm.F16:
		return asm.HalfToFloat(asm.FloatToHalf(x))
	}
	return x
}

// Round rounds numbers to the type of the model's weights.
func Round(list []float32, d asm.Type) {
	for i, x := range list {
		list[i] = round(d, x)
	}
}

// epsilon returns the distance from 1 to the next number.
func epsilon(d asm.Type) float32 {
	return [...]float32{asm.F32: 0x1p-23, asm.BF16: 0x1p-7, asm.F16: 0x1p-10}[d]
}

// isFinite reports whether x is neither infinite nor NaN.
func isFinite(x float32) bool { return math.Float32bits(x)&0x7F800000 != 0x7F800000 }
