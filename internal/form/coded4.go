package form

import (
	"math"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Coded4 is bitsandbytes' 4-bit codes: two a byte, the high nibble first, in
// blocks that run over the flat tensor without regard to rows. Parts: codes,
// absmax, codebook of 16 float32; with nested scales also the nested absmax
// and its codebook of 256.
type Coded4 struct {
	independentRows
	Cols        int64
	Block       int64
	Nested      bool
	NestedBlock int64
	Offset      float32 // of the nested scales
	Fp4         bool    // code 8 is minus zero, which the stored codebook does not have
}

const (
	codedCodes = iota
	codedScales
	codebookPart
	codedNested
	codedNestedMap
)

func (f *Coded4) Need(p int, lo, hi int64) tensor.Span {
	first, end := lo*f.Cols, hi*f.Cols
	switch p {
	case codedCodes:
		return tensor.Span{Off: first / 2, Len: CeilDiv(end, 2) - first/2}
	case codedScales:
		n := CeilDiv(end, f.Block) - first/f.Block
		if f.Nested {
			return tensor.Span{Off: first / f.Block, Len: n}
		}
		return tensor.Span{Off: 4 * (first / f.Block), Len: 4 * n}
	case codebookPart:
		return tensor.Span{Len: 4 * 16}
	case codedNested:
		from := first / f.Block / f.NestedBlock
		return tensor.Span{Off: 4 * from, Len: 4 * (CeilDiv(CeilDiv(end, f.Block), f.NestedBlock) - from)}
	default:
		return tensor.Span{Len: 4 * 256}
	}
}

func (f *Coded4) decode(dst []float32, parts [][]byte, lo, _ int64) {
	codebook := f.codebook(parts)
	f.decodeRange(dst, &codebook, parts, lo*f.Cols, lo*f.Cols)
}

// decodeRange fills dst with the elements from at on. parts begin with the bytes that
// element first needs.
func (f *Coded4) decodeRange(dst []float32, codebook *[16]float32, parts [][]byte, first, at int64) {
	for len(dst) > 0 {
		block := at / f.Block
		n := min(int64(len(dst)), (block+1)*f.Block-at)
		d := f.absmax(parts, block, first/f.Block)
		for i := range dst[:n] {
			c := parts[codedCodes][at/2-first/2]
			if at%2 == 0 {
				c >>= 4
			}
			dst[i] = codebook[c&15] * d
			at++
		}
		dst = dst[n:]
	}
}

func (f *Coded4) Slices() bool { return true }

func (f *Coded4) slice(dst []float32, parts [][]byte, lo, r, col int64) {
	codebook := f.codebook(parts)
	f.decodeRange(dst, &codebook, parts, lo*f.Cols, r*f.Cols+col)
}

// codebook returns the value of each code.
func (f *Coded4) codebook(parts [][]byte) (codebook [16]float32) {
	decodeF32(codebook[:], parts[codebookPart])
	if f.Fp4 {
		codebook[8] = NegativeZero
	}
	return codebook
}

// absmax returns the scale of a block. parts begin with the scale of block from.
func (f *Coded4) absmax(parts [][]byte, block, from int64) float32 {
	if !f.Nested {
		return math.Float32frombits(U32(parts[codedScales][4*(block-from):]))
	}
	code := parts[codedNestedMap][4*int(parts[codedScales][block-from]):]
	scale := parts[codedNested][4*(block/f.NestedBlock-from/f.NestedBlock):]
	return float32(math.Float32frombits(U32(code))*math.Float32frombits(U32(scale))) + f.Offset
}
