package quant

import "github.com/anamnesis-go/anamnesis/internal/wire"

// A Bnb4 is bitsandbytes' four-bit quantizer: blocks that run over the flat
// tensor, one absmax each, two codes a byte, the high nibble first.
type Bnb4 struct {
	FP4   bool
	Block int // elements of a block: 32 to 4096, a power of two
}

// The block sizes that bitsandbytes takes.
const (
	minBnbBlock = 32
	maxBnbBlock = 4096
)

// Check refuses a block size that bitsandbytes does not take.
func (q Bnb4) Check() error {
	if q.Block < minBnbBlock || q.Block > maxBnbBlock || q.Block&(q.Block-1) != 0 {
		return wire.ErrUsage.With("blocks of %d: bitsandbytes takes powers of two from %d to %d", q.Block, minBnbBlock, maxBnbBlock)
	}
	return nil
}

// Name is what quant_state calls the type.
func (q Bnb4) Name() string {
	if q.FP4 {
		return "fp4"
	}
	return "nf4"
}

// Blocks is how many blocks n elements take.
func (q Bnb4) Blocks(n int64) int64 { return ceilDiv(n, int64(q.Block)) }

// Book is the value of each code, as quant_map stores it.
func (q Bnb4) Book() [16]float32 {
	if q.FP4 {
		return fp4Book
	}
	return nf4Book
}

// leastAbsmax keeps the reciprocal of an absmax finite.
const leastAbsmax float32 = 1e-38

// Encode quantizes src: one scale per block, half as many codes as there are
// numbers, rounded up. The first number of src begins a block, and src ends with
// one, unless it ends the tensor.
func (q Bnb4) Encode(codes []byte, scales, src []float32) error {
	if err := allFinite(src); err != nil {
		return err
	}
	for b := 0; len(src) > 0; b++ {
		n := min(q.Block, len(src))
		scales[b] = q.block(codes, src[:n])
		codes, src = codes[(n+1)/2:], src[n:]
	}
	return nil
}

// Absmax fills only the scales that Encode would.
func (q Bnb4) Absmax(scales, src []float32) error {
	if err := allFinite(src); err != nil {
		return err
	}
	for b := 0; len(src) > 0; b++ {
		n := min(q.Block, len(src))
		scales[b] = q.scale(src[:n])
		src = src[n:]
	}
	return nil
}

// scale is a block's absmax. That of a block which is cut off at the tensor's end
// is never less than the least.
func (q Bnb4) scale(src []float32) float32 {
	m := absmax(src)
	if len(src) < q.Block {
		m = max(m, leastAbsmax)
	}
	return m
}

// block quantizes one block. A whole block is multiplied by the reciprocal of
// its absmax, one that is cut off is divided by its absmax.
func (q Bnb4) block(codes []byte, src []float32) float32 {
	m := q.scale(src)
	if len(src) == q.Block {
		q.pack(codes, src, 1/max(m, leastAbsmax))
		return m
	}
	var scaled [maxBnbBlock]float32
	for i, x := range src {
		scaled[i] = x / m
	}
	q.pack(codes, scaled[:len(src)], 1)
	return m
}

// pack writes the codes that are nearest to the scaled numbers, as the library
// finds them: its FP4 takes a zero, and what is a little less, for the zero with
// code 0, what is a little more for that with code 8.
func (q Bnb4) pack(codes []byte, src []float32, inverse float32) {
	bounds, order := &nf4Bounds, &nf4Order
	if q.FP4 {
		bounds, order = &fp4Bounds, &fp4Order
	}
	for len(src) > 1 {
		codes[0] = order[below(bounds, src[0]*inverse)]<<4 | order[below(bounds, src[1]*inverse)]
		codes, src = codes[1:], src[2:]
	}
	if len(src) == 1 { // the tensor's end: the other half is a zero
		codes[0] = order[below(bounds, src[0]*inverse)]<<4 | order[below(bounds, 0)]
	}
}

// below counts the bounds below x: a number on a bound takes the lower side.
func below(bounds *[15]float32, x float32) int {
	n := 0
	for step := 8; step > 0; step /= 2 {
		if bounds[n+step-1] < x {
			n += step
		}
	}
	return n
}
