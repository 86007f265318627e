package asm

import "math"

// A rowEncoder writes the blocks of one row. matrix is the importance of each column, or
// nil, for which the arithmetic differs, as in ggml.
type rowEncoder func(dst []byte, src, matrix []float32)

// Encodes reports whether rows can be written as blocks of k.
func (k Kind) Encodes() bool { return kinds[k].encode != nil }

// NeedsMatrix reports whether ggml writes blocks of k only with a matrix.
func (k Kind) NeedsMatrix() bool { return k == IQ2_XXS || k == IQ2_XS || k == IQ1_S }

// gridTables bounds the memory of one grid's tables while they are built.
const gridTables = 3 << 20

// Tables returns the bytes of tables that the first row of a type builds and that are
// kept; 0 for most types.
func (k Kind) Tables() int64 {
	switch k {
	case IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S:
		return gridTables
	}
	return 0
}

// EncodeRow writes one row as blocks of k, with the bytes of ggml's quantize_* functions
// when they are built without contraction. It is the specification: float32 arithmetic,
// each operation rounded on its own, sums in order. matrix is the importance of each
// column, or nil. Numbers must be finite; for others, or if the scale overflows, the bytes
// have no meaning.
func (k Kind) EncodeRow(dst []byte, src, matrix []float32) {
	k.wantRow(dst, src, matrix)
	kinds[k].encode(dst, src, matrix)
}

// wantRow panics if lengths do not match.
func (k Kind) wantRow(dst []byte, src, matrix []float32) {
	want(len(src)%k.Elems() == 0 && len(dst) == len(src)/k.Elems()*k.Bytes(), "a row is not a whole number of blocks, or its bytes are too few")
	want(matrix == nil || len(matrix) == len(src), "columns and their importance differ in count")
	apart(dst, Raw(src))
}

// eachBlock returns an encoder of rows that encodes block by block.
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

// byRow returns an encoder of rows that calls plain without a matrix, else weighted, with
// the mean of the row's squares.
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

// squares returns the sum of squares, in order.
func squares(x []float32) (sum float32) {
	for _, v := range x {
		sum += float32(v * v)
	}
	return sum
}

// importance sets dst to matrix*sqrt(mean + x^2), the weights of errors of x.
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

// reciprocal returns 1/d, or 0 for 0.
func reciprocal(d float32) float32 {
	if d == 0 {
		return 0
	}
	return 1 / d
}

// largest returns the number of largest magnitude, the first of equals, and that
// magnitude; zeros count as +0.
func largest(x []float32) (value, magnitude float32) {
	for _, v := range x {
		if a := abs32(v); a > magnitude {
			value, magnitude = v, a
		}
	}
	return value, magnitude
}

// nearest rounds to the nearest integer, ties to even: adding 1.5*2^23 leaves the integer
// in the low bits of the sum.
func nearest(x float32) int {
	return int(math.Float32bits(x+12582912)&0x7FFFFF) - 0x400000
}

// away rounds to the nearest integer, ties away from zero, as roundf does.
func away(x float32) float32 { return float32(math.Round(float64(x))) }

// truncate converts to int32 as C does on x86: a number out of range, or NaN, becomes the
// least integer.
func truncate(x float32) int32 {
	if !(x >= -1<<31 && x < 1<<31) {
		return math.MinInt32
	}
	return int32(x)
}

func clamp(v, low, high int) int { return max(low, min(high, v)) }

// putHalf writes d rounded to float16 and returns the rounded number.
func putHalf(p []byte, d float32) float32 {
	h := FloatToHalf(d)
	p[0], p[1] = byte(h), byte(h>>8)
	return HalfToFloat(h)
}
