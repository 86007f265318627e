package quant

import (
	"math"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// bnb4 is bitsandbytes' 4-bit codes: two a byte, the high nibble first, in
// blocks that run over the flat tensor without regard to rows. Parts: codes,
// absmax, code book of 16 float32; with nested scales also the nested absmax
// and its code book of 256.
type bnb4 struct {
	own
	cols        int64
	block       int64
	nested      bool
	nestedBlock int64
	offset      float32 // of the nested scales
	fp4         bool    // code 8 is minus zero, which the stored book cannot say
}

const (
	bnbCodes = iota
	bnbAbsmax
	bnbBook
	bnbNestedAbsmax
	bnbNestedBook
)

func (f *bnb4) need(p int, lo, hi int64) tensor.Span {
	first, end := lo*f.cols, hi*f.cols
	switch p {
	case bnbCodes:
		return tensor.Span{Off: first / 2, Len: ceilDiv(end, 2) - first/2}
	case bnbAbsmax:
		n := ceilDiv(end, f.block) - first/f.block
		if f.nested {
			return tensor.Span{Off: first / f.block, Len: n}
		}
		return tensor.Span{Off: 4 * (first / f.block), Len: 4 * n}
	case bnbBook:
		return tensor.Span{Len: 4 * 16}
	case bnbNestedAbsmax:
		from := first / f.block / f.nestedBlock
		return tensor.Span{Off: 4 * from, Len: 4 * (ceilDiv(ceilDiv(end, f.block), f.nestedBlock) - from)}
	default:
		return tensor.Span{Len: 4 * 256}
	}
}

func (f *bnb4) decode(dst []float32, parts [][]byte, lo, _ int64) {
	book := f.book(parts)
	f.run(dst, &book, parts, lo*f.cols, lo*f.cols)
}

// run fills dst with the numbers from element at on; parts begin with what
// element first needs.
func (f *bnb4) run(dst []float32, book *[16]float32, parts [][]byte, first, at int64) {
	for len(dst) > 0 {
		block := at / f.block
		n := min(int64(len(dst)), (block+1)*f.block-at)
		d := f.absmax(parts, block, first/f.block)
		for i := range dst[:n] {
			c := parts[bnbCodes][at/2-first/2]
			if at%2 == 0 {
				c >>= 4
			}
			dst[i] = book[c&15] * d
			at++
		}
		dst = dst[n:]
	}
}

func (f *bnb4) slices() bool { return true }

func (f *bnb4) slice(dst []float32, parts [][]byte, lo, r, col int64) {
	book := f.book(parts)
	f.run(dst, &book, parts, lo*f.cols, r*f.cols+col)
}

// book is the code book, as the weight means it.
func (f *bnb4) book(parts [][]byte) (book [16]float32) {
	decodeF32(book[:], parts[bnbBook])
	if f.fp4 {
		book[8] = negativeZero
	}
	return book
}

// absmax is the scale of a block; from is the first block whose scale is there.
func (f *bnb4) absmax(parts [][]byte, block, from int64) float32 {
	if !f.nested {
		return math.Float32frombits(u32(parts[bnbAbsmax][4*(block-from):]))
	}
	code := parts[bnbNestedBook][4*int(parts[bnbAbsmax][block-from]):]
	scale := parts[bnbNestedAbsmax][4*(block/f.nestedBlock-from/f.nestedBlock):]
	return float32(math.Float32frombits(u32(code))*math.Float32frombits(u32(scale))) + f.offset
}
