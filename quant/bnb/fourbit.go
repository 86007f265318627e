package bnb

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A Quantizer is bitsandbytes' 4-bit quantizer: blocks of the flat tensor with one absmax
// each, two codes a byte, the high nibble first.
type Quantizer struct {
	FP4   bool
	Block int // elements of a block: 32 to 4096, a power of two
}

// The block sizes that bitsandbytes takes.
const (
	minBnbBlock = 32
	maxBnbBlock = 4096
)

// Check returns an error for a block size that bitsandbytes does not take.
func (q Quantizer) Check() error {
	if q.Block < minBnbBlock || q.Block > maxBnbBlock || q.Block&(q.Block-1) != 0 {
		return wire.ErrUsage.Errorf("blocks of %d: bitsandbytes takes powers of two from %d to %d", q.Block, minBnbBlock, maxBnbBlock)
	}
	return nil
}

// Name returns the name of the type in quant_state.
func (q Quantizer) Name() string {
	if q.FP4 {
		return "fp4"
	}
	return "nf4"
}

// Blocks returns the number of blocks of n elements.
func (q Quantizer) Blocks(n int64) int64 { return form.CeilDiv(n, int64(q.Block)) }

// Codebook returns the value of each code, as stored in quant_map.
func (q Quantizer) Codebook() [16]float32 {
	if q.FP4 {
		return fp4Codebook
	}
	return nf4Codebook
}

// leastAbsmax keeps the reciprocal of an absmax finite.
const leastAbsmax float32 = 1e-38

// Encode quantizes src: one scale per block, and one byte of codes for two numbers, rounded up. The
// first number of src begins a block, and src ends with one, unless it ends the tensor.
func (q Quantizer) Encode(codes []byte, scales, src []float32) error {
	if err := q.Absmax(scales, src); err != nil {
		return err
	}
	whole := len(src) / q.Block * q.Block
	asm.Best().Nearest(q.quantizer(), codes[:whole/2], src[:whole], scales, q.Block)
	if rest := src[whole:]; len(rest) > 0 {
		q.last(codes[whole/2:], rest, scales[whole/q.Block])
	}
	return nil
}

// quantizer returns the table by which codes are found, with the library's bounds. Its
// FP4 has two codes for zero: 0 for zero and numbers slightly below it, 8 for numbers
// slightly above it.
func (q Quantizer) quantizer() *asm.Quantizer {
	if q.FP4 {
		return fp4Quantizer
	}
	return nf4Quantizer
}

var (
	nf4Quantizer = asm.NewQuantizer(nf4Bounds, nf4Order, leastAbsmax)
	fp4Quantizer = asm.NewQuantizer(fp4Bounds, fp4Order, leastAbsmax)
)

// Absmax computes only the scales that Encode would.
func (q Quantizer) Absmax(scales, src []float32) error {
	if err := absmax(scales[:form.CeilDiv(int64(len(src)), int64(q.Block))], src, q.Block); err != nil {
		return err
	}
	if len(src)%q.Block != 0 { // the absmax of a partial block is never below the minimum
		last := &scales[len(src)/q.Block]
		*last = max(*last, leastAbsmax)
	}
	return nil
}

// last quantizes the partial block at the end of a tensor. Its numbers are divided by the
// absmax, where those of other blocks are multiplied by the reciprocal.
func (q Quantizer) last(codes []byte, src []float32, m float32) {
	c := q.quantizer()
	for len(src) > 1 {
		codes[0] = c.Code(src[0]/m)<<4 | c.Code(src[1]/m)
		codes, src = codes[1:], src[2:]
	}
	if len(src) == 1 { // the other nibble is zero
		codes[0] = c.Code(src[0]/m)<<4 | c.Code(0)
	}
}
