package form

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// PackedIn is codes packed along the input dimension: a stored row holds several inputs of
// every output. The weight is its transpose. Parts: qweight [in*bits/32, out], scales
// [groups, out], qzeros [groups, out*bits/32], and g_idx [in] if there is one.
type PackedIn struct {
	In, Out, Groups int64
	Bits            int64
	GroupSize       int64 // consecutive inputs, if there is no g_idx
	Scale           Number
	ScaleSize       int64
	Bulk            bulk
	// OldZeros says that zero points are stored minus one, as in the first version of the
	// format.
	OldZeros bool
}

const (
	inWeight = iota
	inScales
	inZeros
	inIndex
)

func (f *PackedIn) Geometry() Geometry { return Geometry{Group: f.Out} }

// Need returns all of each part for any range, since rows are columns of the parts.
func (f *PackedIn) Need(p int, _, _ int64) tensor.Span {
	switch p {
	case inWeight:
		return tensor.Span{Len: f.In * f.Bits / 8 * f.Out}
	case inScales:
		return tensor.Span{Len: f.Groups * f.Out * f.ScaleSize}
	case inZeros:
		return tensor.Span{Len: f.Groups * f.Out * f.Bits / 8}
	default:
		return tensor.Span{Len: 4 * f.In}
	}
}

func (f *PackedIn) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for i := range f.In {
		g := i / f.GroupSize
		if len(parts) > inIndex {
			g = f.Group(int32(U32(parts[inIndex][4*i:])))
		}
		for o := lo; o < hi; o++ {
			q := column(parts[inWeight], f.Out, f.Bits, i, o)
			z := f.Zero(parts[inZeros], g, o)
			s := f.Scale(parts[inScales], g*f.Out+o)
			dst[(o-lo)*f.In+i] = float32(int32(q)-int32(z)) * s
		}
	}
}

func (f *PackedIn) Slices() bool { return true }

func (f *PackedIn) slice(dst []float32, parts [][]byte, _, r, col int64) {
	for i := range dst {
		dst[i] = f.number(parts, col+int64(i), r)
	}
}

// number returns the value of input i of output o.
func (f *PackedIn) number(parts [][]byte, i, o int64) float32 {
	g := i / f.GroupSize
	if len(parts) > inIndex {
		g = f.Group(int32(U32(parts[inIndex][4*i:])))
	}
	q, z := column(parts[inWeight], f.Out, f.Bits, i, o), f.Zero(parts[inZeros], g, o)
	return float32(int32(q)-int32(z)) * f.Scale(parts[inScales], g*f.Out+o)
}

// Group converts a negative index, which counts from the end as in the libraries.
func (f *PackedIn) Group(index int32) int64 {
	if index < 0 {
		return int64(index) + f.Groups
	}
	return int64(index)
}

// column reads field i of column o. Every column is a stream of bits in little-endian
// 32-bit words, and the words of all columns are side by side.
func column(p []byte, cols, bits, i, o int64) uint32 {
	word, shift := i*bits/32, i*bits%32
	v := uint64(U32(p[4*(word*cols+o):]))
	if shift+bits > 32 {
		v |= uint64(U32(p[4*((word+1)*cols+o):])) << 32
	}
	return uint32(v>>shift) & (1<<bits - 1)
}

// onesPerField is what the writers of the first version subtract from a word, if fields
// fill it.
var onesPerField = [9]uint32{2: 0x55555555, 4: 0x11111111, 8: 0x01010101}

// Zero reads a zero point. The first version stores it minus one. If fields fill a word,
// its writer subtracts one from all fields of the word at once, with borrows, and Zero
// inverts that exactly.
func (f *PackedIn) Zero(p []byte, g, o int64) uint32 {
	words := f.Out * f.Bits / 32
	word, shift := o*f.Bits/32, o*f.Bits%32
	w := U32(p[4*(g*words+word):])
	whole := 32%f.Bits == 0
	if f.OldZeros && whole {
		w += onesPerField[f.Bits]
	}
	v := uint64(w)
	if shift+f.Bits > 32 {
		v |= uint64(U32(p[4*(g*words+word+1):])) << 32
	}
	z := uint32(v >> shift)
	if f.OldZeros && !whole {
		z++
	}
	return z & (1<<f.Bits - 1)
}
