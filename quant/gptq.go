package quant

import "github.com/anamnesis-go/anamnesis/parser/tensor"

// gptq is codes packed along the input dimension, so that a stored row holds
// some inputs of every output; the weight is its transpose. Parts: qweight
// [in*bits/32, out], scales [groups, out], qzeros [groups, out*bits/32] and
// g_idx [in], where there is one.
type gptq struct {
	in, out, groups int64
	bits            int64
	groupSize       int64 // of consecutive inputs, where there is no g_idx
	scale           number
	scaleSize       int64
	bulk            bulk
	// oldZeros: the first version of the format stores zero points less one.
	oldZeros bool
}

const (
	gptqWeight = iota
	gptqScales
	gptqZeros
	gptqIndex
)

func (f *gptq) geometry() geometry { return geometry{group: f.out} }

// Every range of outputs takes all parts whole: their columns are the rows.
func (f *gptq) need(p int, _, _ int64) tensor.Span {
	switch p {
	case gptqWeight:
		return tensor.Span{Len: f.in * f.bits / 8 * f.out}
	case gptqScales:
		return tensor.Span{Len: f.groups * f.out * f.scaleSize}
	case gptqZeros:
		return tensor.Span{Len: f.groups * f.out * f.bits / 8}
	default:
		return tensor.Span{Len: 4 * f.in}
	}
}

func (f *gptq) decode(dst []float32, parts [][]byte, lo, hi int64) {
	for i := range f.in {
		g := i / f.groupSize
		if len(parts) > gptqIndex {
			g = f.group(int32(u32(parts[gptqIndex][4*i:])))
		}
		for o := lo; o < hi; o++ {
			q := column(parts[gptqWeight], f.out, f.bits, i, o)
			z := f.zero(parts[gptqZeros], g, o)
			s := f.scale(parts[gptqScales], g*f.out+o)
			dst[(o-lo)*f.in+i] = float32(int32(q)-int32(z)) * s
		}
	}
}

func (f *gptq) slices() bool { return true }

func (f *gptq) slice(dst []float32, parts [][]byte, _, r, col int64) {
	for i := range dst {
		dst[i] = f.number(parts, col+int64(i), r)
	}
}

// number is the number of input i and output o.
func (f *gptq) number(parts [][]byte, i, o int64) float32 {
	g := i / f.groupSize
	if len(parts) > gptqIndex {
		g = f.group(int32(u32(parts[gptqIndex][4*i:])))
	}
	q, z := column(parts[gptqWeight], f.out, f.bits, i, o), f.zero(parts[gptqZeros], g, o)
	return float32(int32(q)-int32(z)) * f.scale(parts[gptqScales], g*f.out+o)
}

// group counts a negative index from the end, as the libraries do.
func (f *gptq) group(index int32) int64 {
	if index < 0 {
		return int64(index) + f.groups
	}
	return int64(index)
}

// column reads field i of column o: every column is a stream of bits in
// little-endian words of 32, the words of all columns side by side.
func column(p []byte, cols, bits, i, o int64) uint32 {
	word, shift := i*bits/32, i*bits%32
	v := uint64(u32(p[4*(word*cols+o):]))
	if shift+bits > 32 {
		v |= uint64(u32(p[4*((word+1)*cols+o):])) << 32
	}
	return uint32(v>>shift) & (1<<bits - 1)
}

// onesPerField is what the writers of the first version subtract from a word,
// where fields fill one.
var onesPerField = [9]uint32{2: 0x55555555, 4: 0x11111111, 8: 0x01010101}

// zero reads a zero point. The first version stores it less one, and where the
// fields fill a word its reader adds one to all fields at once, carries
// included: that is the exact inverse of its writer.
func (f *gptq) zero(p []byte, g, o int64) uint32 {
	words := f.out * f.bits / 32
	word, shift := o*f.bits/32, o*f.bits%32
	w := u32(p[4*(g*words+word):])
	whole := 32%f.bits == 0
	if f.oldZeros && whole {
		w += onesPerField[f.bits]
	}
	v := uint64(w)
	if shift+f.bits > 32 {
		v |= uint64(u32(p[4*(g*words+word+1):])) << 32
	}
	z := uint32(v >> shift)
	if f.oldZeros && !whole {
		z++
	}
	return z & (1<<f.bits - 1)
}
