package form

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// PackedOut is AutoAWQ's GEMM layout: codes packed along the output dimension, eight nibbles a
// word in the order of outNibble. Parts: qweight [in, out*bits/32], scales [groups, out],
// qzeros [groups, out*bits/32]. The weight is the transpose. GPTQModel writes other
// widths under the same names, as a stream without that order.
type PackedOut struct {
	In, Out, Groups int64
	Bits            int64
	GroupSize       int64
	Scale           Number
	ScaleSize       int64
	Bulk            bulk
}

// outNibble[j] is the nibble of word k that holds column 8k+j.
var outNibble = [8]uint{0, 4, 1, 5, 2, 6, 3, 7}

func (f *PackedOut) Geometry() Geometry { return Geometry{Group: f.Out} }

func (f *PackedOut) Need(p int, _, _ int64) tensor.Span {
	switch p {
	case 0:
		return tensor.Span{Len: f.In * f.Out * f.Bits / 8}
	case 1:
		return tensor.Span{Len: f.Groups * f.Out * f.ScaleSize}
	default:
		return tensor.Span{Len: f.Groups * f.Out * f.Bits / 8}
	}
}

func (f *PackedOut) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for i := range f.In {
		g := i / f.GroupSize
		for o := lo; o < hi; o++ {
			q, z := f.field(parts[0], i, o), f.field(parts[2], g, o)
			dst[(o-lo)*f.In+i] = float32(q-z) * f.Scale(parts[1], g*f.Out+o)
		}
	}
}

func (f *PackedOut) Slices() bool { return true }

func (f *PackedOut) slice(dst []float32, parts [][]byte, _, r, col int64) {
	for k := range dst {
		i := col + int64(k)
		g := i / f.GroupSize
		dst[k] = float32(f.field(parts[0], i, r)-f.field(parts[2], g, r)) * f.Scale(parts[1], g*f.Out+r)
	}
}

func (f *PackedOut) field(p []byte, row, o int64) int32 {
	words := f.Out * f.Bits / 32
	if f.Bits == 4 {
		return int32(U32(p[4*(row*words+o/8):]) >> (4 * outNibble[o%8]) & 15)
	}
	return int32(column(p[4*row*words:], 1, f.Bits, o, 0))
}
