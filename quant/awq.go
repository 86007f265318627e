package quant

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// awq is AutoAWQ's GEMM layout: codes packed along the output dimension, eight
// nibbles a word in the order below. Parts: qweight [in, out*bits/32], scales
// [groups, out], qzeros [groups, out*bits/32]. The weight is the transpose.
// GPTQModel writes other widths under the same names, as a stream without that
// order.
type awq struct {
	in, out, groups int64
	bits            int64
	groupSize       int64
	scale           number
	scaleSize       int64
	bulk            bulk
}

// awqNibble is the nibble of a word that holds column 8k+j.
var awqNibble = [8]uint{0, 4, 1, 5, 2, 6, 3, 7}

func (f *awq) geometry() geometry { return geometry{group: f.out} }

func (f *awq) need(p int, _, _ int64) tensor.Span {
	switch p {
	case 0:
		return tensor.Span{Len: f.in * f.out * f.bits / 8}
	case 1:
		return tensor.Span{Len: f.groups * f.out * f.scaleSize}
	default:
		return tensor.Span{Len: f.groups * f.out * f.bits / 8}
	}
}

func (f *awq) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for i := range f.in {
		g := i / f.groupSize
		for o := lo; o < hi; o++ {
			q, z := f.field(parts[0], i, o), f.field(parts[2], g, o)
			dst[(o-lo)*f.in+i] = float32(q-z) * f.scale(parts[1], g*f.out+o)
		}
	}
}

func (f *awq) slices() bool { return true }

func (f *awq) slice(dst []float32, parts [][]byte, _, r, col int64) {
	for k := range dst {
		i := col + int64(k)
		g := i / f.groupSize
		dst[k] = float32(f.field(parts[0], i, r)-f.field(parts[2], g, r)) * f.scale(parts[1], g*f.out+r)
	}
}

func (f *awq) field(p []byte, row, o int64) int32 {
	words := f.out * f.bits / 32
	if f.bits == 4 {
		return int32(u32(p[4*(row*words+o/8):]) >> (4 * awqNibble[o%8]) & 15)
	}
	return int32(column(p[4*row*words:], 1, f.bits, o, 0))
}
