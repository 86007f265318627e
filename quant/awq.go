package quant

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// awq is AutoAWQ's GEMM layout: codes packed along the output dimension, eight
// nibbles a word in the order below. Parts: qweight [in, out/8], scales
// [groups, out], qzeros [groups, out/8]. The weight is the transpose.
type awq struct {
	in, out, groups int64
	groupSize       int64
	scale           number
	scaleSize       int64
}

// awqNibble is the nibble of a word that holds column 8k+j.
var awqNibble = [8]uint{0, 4, 1, 5, 2, 6, 3, 7}

func (f *awq) need(p int, _, _ int64) tensor.Span {
	switch p {
	case 0:
		return tensor.Span{Len: f.in * f.out / 2}
	case 1:
		return tensor.Span{Len: f.groups * f.out * f.scaleSize}
	default:
		return tensor.Span{Len: f.groups * f.out / 2}
	}
}

func (f *awq) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for i := range f.in {
		g := i / f.groupSize
		for o := lo; o < hi; o++ {
			q := awqField(parts[0], i*f.out/8, o)
			z := awqField(parts[2], g*f.out/8, o)
			dst[(o-lo)*f.in+i] = float32(q-z) * f.scale(parts[1], g*f.out+o)
		}
	}
}

func awqField(p []byte, row, o int64) int32 {
	return int32(u32(p[4*(row+o/8):]) >> (4 * awqNibble[o%8]) & 15)
}
