package bnb

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Encoders turn numbers into codes. They are bitsandbytes' own arithmetic, as
// its CPU build does it: float32, each step rounded by itself. They allocate
// nothing, are safe for concurrent use, and take a tensor in ranges of whole
// blocks or rows: only the last range may end inside a block, and however a
// tensor is cut, the bytes are the same.
//
// Numbers that no block can hold are refused: bitsandbytes takes them and spoils
// the whole block, or row, that they stand in.

// allFinite refuses the first number that is none, or is infinite.
func allFinite(src []float32) error {
	for i, x := range src {
		if math.Float32bits(x)&0x7F800000 == 0x7F800000 {
			return &NotFinite{Index: int64(i), Value: x}
		}
	}
	return nil
}

// NotFinite says that a number cannot be quantized. It is of class unsupported.
type NotFinite struct {
	Index int64 // of the number, in the range that was given
	Value float32
}

func (e *NotFinite) Error() string {
	return e.Unwrap().Error()
}

// Unwrap gives the class.
func (e *NotFinite) Unwrap() error {
	return wire.ErrUnsupported.With("element %d is %v, which codes with a scale cannot say", e.Index, e.Value)
}

// absmax fills in the largest magnitude of each run, and refuses the first
// number that is not finite: it shows in its run.
func absmax(dst, src []float32, run int) error {
	asm.Best().Absmax(dst, src, run)
	for _, m := range dst {
		if math.Float32bits(m) >= 0x7F800000 {
			return allFinite(src)
		}
	}
	return nil
}
