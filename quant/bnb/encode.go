package bnb

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/encode"
)

// The encoders use bitsandbytes' own arithmetic, as in its CPU build: float32, each step
// rounded. They allocate nothing, are safe for concurrent use, and take a tensor in
// ranges of whole blocks or rows: only the last range may end inside a block. The bytes
// do not depend on the ranges.
//
// Numbers that are not finite are refused; bitsandbytes accepts them, and they spoil the
// whole block or row.

// allFinite returns an error for the first number that is not finite.
func allFinite(src []float32) error {
	for i, x := range src {
		if math.Float32bits(x)&0x7F800000 == 0x7F800000 {
			return &NotFinite{Index: int64(i), Value: x}
		}
	}
	return nil
}

// NotFinite says that a number cannot be quantized. It is of class unsupported.
type NotFinite = encode.NotFinite

// absmax computes the largest magnitude of each run, or returns an error for the first
// number that is not finite.
func absmax(dst, src []float32, run int) error {
	asm.Best().Absmax(dst, src, run)
	for _, m := range dst {
		if math.Float32bits(m) >= 0x7F800000 {
			return allFinite(src)
		}
	}
	return nil
}
