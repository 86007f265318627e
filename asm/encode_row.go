package asm

import (
	"math"
	"sync"
)

// A rowKernel writes n blocks, without importance of columns.
type rowKernel = func(dst *byte, src *float32, n int)

// EncodeRow writes one row as blocks of k, as [Kind.EncodeRow] does.
func (o *Ops) EncodeRow(k Kind, dst []byte, src, matrix []float32) {
	if matrix != nil && k.ignoresMatrix() {
		k.wantRow(dst, src, matrix)
		matrix = nil
	}
	switch kernel := o.rows[k]; {
	case kernel != nil && matrix == nil && len(src) > 0:
		k.wantRow(dst, src, matrix)
		kernel(&dst[0], &src[0], len(src)/k.Elems())
	case laneEncoders[k] != nil && o.search.choose != nil:
		k.wantRow(dst, src, matrix)
		laneEncoders[k](o, dst, src, matrix)
	default:
		k.EncodeRow(dst, src, matrix)
	}
}

// ignoresMatrix reports types whose bytes do not depend on the importance of columns.
func (k Kind) ignoresMatrix() bool { return k == Q8_0 || k == MXFP4 || k == NVFP4 }

// encodes reports whether there are kernels for the rows of a type.
func (o *Ops) encodes(k Kind) bool {
	return o.rows[k] != nil || laneEncoders[k] != nil && o.search.choose != nil
}

// mxfp4Bounds are for the kernels of MXFP4: roundsUp, then half of the scale of each
// exponent.
var mxfp4Bounds = sync.OnceValue(func() (tables *[512]uint32) {
	tables = new([512]uint32)
	for e := range 256 {
		tables[e] = roundsUp(e)
		tables[256+e] = math.Float32bits(e8m0Half(uint8(e)) / 2)
	}
	return tables
})

// roundsUp returns, as bits, the least number with a biased exponent whose binary
// logarithm rounds in float32 to the next integer, or the first number of the next
// exponent if there is none.
func roundsUp(e int) uint32 {
	low, high := uint32(e)<<23, uint32(e+1)<<23
	for low < high {
		if middle := (low + high) / 2; logarithm(math.Float32frombits(middle)) > float64(e-127) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}
