package asm

import "math"

// A rowEncoder writes the blocks of one row. matrix holds the importance of each
// column, or is nil: then the arithmetic is another one, as in ggml.
type rowEncoder func(dst []byte, src, matrix []float32)

// Encodes reports whether rows can be written as blocks of k.
func (k Kind) Encodes() bool { return kinds[k].encode != nil }

// NeedsMatrix reports that ggml writes rows as blocks of k with a matrix alone.
func (k Kind) NeedsMatrix() bool { return k == IQ2_XXS || k == IQ2_XS || k == IQ1_S }

// gridTables is more than the tables of one grid take while they are built.
const gridTables = 3 << 20

// Tables is the bytes of the tables that the first row of a type builds, and that
// stay; 0 for most types.
func (k Kind) Tables() int64 {
	switch k {
	case IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S:
		return gridTables
	}
	return 0
}

// EncodeRow writes one row as blocks of k, the bytes that ggml's quantize_*
// functions write when they are built without contraction. It is the
// specification: float32 arithmetic, each operation rounded by itself, sums in
// order. matrix holds the importance of each column, or is nil. Numbers are finite;
// of others, or such as overflow the scale, bytes are written but mean nothing.
func (k Kind) EncodeRow(dst []byte, src, matrix []float32) {
	k.wantRow(dst, src, matrix)
	kinds[k].encode(dst, src, matrix)
}

// wantRow panics if lengths do not fit.
func (k Kind) wantRow(dst []byte, src, matrix []float32) {
	want(len(src)%k.Elems() == 0 && len(dst) == len(src)/k.Elems()*k.Bytes(), "a row is not a whole number of blocks, or its bytes are too few")
	want(matrix == nil || len(matrix) == len(src), "columns and their importance differ in count")
	apart(dst, Raw(src))
}

// eachBlock encodes a row block by block where a block needs nothing of its row.
func eachBlock(n, size int, encode func(block []byte, x, matrix []float32)) rowEncoder {
	return func(dst []byte, src, matrix []float32) {
		for i := 0; i < len(src); i += n {
			var m []float32
			if matrix != nil {
				m = matrix[i:][:n:n]
			}
			encode(dst[:size:size], src[i:][:n:n], m)
			dst = dst[size:]
		}
	}
}

// byRow encodes as plain does without a matrix, and with one as weighted does,
// which is told the mean of the row's squares.
func byRow(n, size int, plain func(block []byte, x []float32), weighted func(block []byte, x, matrix []float32, mean float32)) rowEncoder {
	return func(dst []byte, src, matrix []float32) {
		mean := float32(0)
		if matrix != nil {
			mean = squares(src) / float32(len(src))
		}
		eachBlock(n, size, func(block []byte, x, matrix []float32) {
			if matrix == nil {
				plain(block, x)
			} else {
				weighted(block, x, matrix, mean)
			}
		})(dst, src, matrix)
	}
}

// squares is the sum of squares, in order.
func squares(x []float32) (sum float32) {
	for _, v := range x {
		sum += float32(v * v)
	}
	return sum
}

// importance is matrix * sqrt(mean + x^2), the weight of an error of x.
func importance(dst, x, matrix []float32, mean float32) {
	for i, v := range x {
		dst[i] = matrix[i] * sqrt32(mean+float32(v*v))
	}
}

func total(x []float32) (sum float32) {
	for _, v := range x {
		sum += v
	}
	return sum
}

func sqrt32(x float32) float32 { return float32(math.Sqrt(float64(x))) }
func abs32(x float32) float32  { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// reciprocal is 1/d, and 0 of zero.
func reciprocal(d float32) float32 {
	if d == 0 {
		return 0
	}
	return 1 / d
}

// largest is the number of largest magnitude, the first of equals, and that
// magnitude; zeros count as +0.
func largest(x []float32) (value, magnitude float32) {
	for _, v := range x {
		if a := abs32(v); a > magnitude {
			value, magnitude = v, a
		}
	}
	return value, magnitude
}

// nearest rounds to the nearest integer, ties to even: adding 1.5*2^23 leaves it in
// the low bits of the sum.
func nearest(x float32) int {
	return int(math.Float32bits(x+12582912)&0x7FFFFF) - 0x400000
}

// away rounds to the nearest integer, ties away from zero, as roundf does.
func away(x float32) float32 { return float32(math.Round(float64(x))) }

// truncate is C's conversion to an int32 as x86 does it: what does not fit, NaN
// too, is the least one.
func truncate(x float32) int32 {
	if !(x >= -1<<31 && x < 1<<31) {
		return math.MinInt32
	}
	return int32(x)
}

func clamp(v, low, high int) int { return max(low, min(high, v)) }

// putHalf writes d rounded to float16 and returns what was written.
func putHalf(p []byte, d float32) float32 {
	h := FloatToHalf(d)
	p[0], p[1] = byte(h), byte(h>>8)
	return HalfToFloat(h)
}
