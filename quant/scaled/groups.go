package scaled

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
)

// A Number says how a scale is stored.
type Number uint8

// The numbers.
const (
	OfWeights Number = iota // in the type of the model's weights
	Half                    // float16
	Exponent                // a byte: the power of two plus 127
	Float8                  // E4M3
	Nothing                 // no scales: the matrix has one
)

// A Second says what accompanies each scale.
type Second uint8

// The seconds.
const (
	None Second = iota
	ZeroPoint
	Bias
)

// Groups is a format whose numbers share scales in groups along a row. Some have a global
// scale for the matrix as well.
type Groups struct {
	Name    string // as on the command line
	Layout  string // for people
	Mode    string // the library's name for it, if it has several
	Bits    int
	Size    int64 // numbers in a group; 0 if the matrix has one scale
	Float   bool  // codes are E2M1 or E4M3
	E5M2    bool  // 8-bit codes are E5M2 instead of E4M3
	Scale   Number
	Second  Second
	Global  bool // a global scale, with or without group scales
	Wide    bool // a lone global scale is computed in float32, whatever the type of the weights
	Divides bool // the global scale divides, instead of multiplying
	// Half and Bfloat say that the library rounds weights to float16 or BF16 before it
	// quantizes them.
	Half, Bfloat bool
	// Columns says that codes are packed along the inputs, so that a row of the weight is
	// a column of what is stored.
	Columns bool

	Rule Rule
}

// A Rule encodes one group.
type Rule func(g group, x []float32) group

// A group is the input and the result of a rule: codes, the scale and its zero point or
// bias, as they are decoded.
type group struct {
	f      *Groups
	d      asm.Type // of the model's weights, in which the library computes
	global float32
	most   float32 // the largest magnitude
	codes  []byte
	scale  float32
	second float32
}

// Step returns how many numbers to encode at once: a group, or a convenient number if
// there are no groups.
func (f *Groups) Step() int64 {
	if f.Size == 0 {
		return maxStep
	}
	return f.Size
}

// maxStep is the maximum that Step returns.
const maxStep = 256

// Count returns the number of groups in a row.
func (f *Groups) Count(cols int64) int64 {
	if f.Size == 0 {
		return 0
	}
	return cols / f.Size
}

// Lines returns how many rows must be stored together, because their zero points share
// words. Even zero points of 3 bits then fill whole words.
func (f *Groups) Lines() int64 {
	switch {
	case f.Second != ZeroPoint:
		return 1
	case f.Bits == 3:
		return 32
	}
	return 32 / int64(f.Bits)
}

// Fits reports whether a matrix can be divided into groups, and into words if the stored
// shape must tell its size.
func (f *Groups) Fits(rows, cols int64) bool {
	return (f.Size == 0 || cols%f.Size == 0) && (!f.Columns || rows%32 == 0)
}

// RowBytes returns the size of a row's codes.
func (f *Groups) RowBytes(cols int64) int64 { return cols * int64(f.Bits) / 8 }

// Over returns the global scale, from the largest magnitude of a matrix whose numbers
// have the type d.
func (f *Groups) Over(most float32, d asm.Type) float32 {
	switch {
	case f.Size == 0 && f.Wide:
		return nonzero(most/448, asm.F32)
	case f.Size == 0 && f.E5M2:
		return nonzero(round(d, most/57344), d)
	case f.Size == 0:
		return nonzero(round(d, most/448), d)
	case f.Divides:
		most = max(most, tiny(d))
		over := round(d, float32(round(d, 1/most)*largestNVFP4)) // torch divides a number by a tensor this way
		if !isFinite(over) {
			return 1
		}
		return over
	}
	return most / largestNVFP4
}

// Fused returns the global scale for matrices that loaders fuse.
func (f *Groups) Fused(a, b float32) float32 {
	if f.Divides {
		return min(a, b)
	}
	return max(a, b)
}

// largestNVFP4 is the largest scale times the largest code.
const largestNVFP4 = 448 * 6

// Most returns the largest magnitude in list, at least most.
func Most(most float32, list []float32) (float32, error) {
	m := largestOf(list)
	if !isFinite(m) {
		return 0, firstBad(list, 0, 0)
	}
	return max(most, m), nil
}

// largestOf returns the largest magnitude, by its bits: numbers that are not finite are
// larger than all others.
func largestOf(x []float32) float32 {
	most := uint32(0)
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return math.Float32frombits(most)
}

// A Coded is one encoded group.
type Coded struct {
	Codes []byte  // one a number
	Scale float32 // rounded as it is stored
	// Second is the zero point, as an unsigned code, or the rounded bias.
	Second float32
}

// Encode encodes one group into codes, which is as long as x. The numbers are already
// rounded to d.
func (f *Groups) Encode(codes []byte, x []float32, d asm.Type, over float32) (Coded, error) {
	most := largestOf(x)
	if !isFinite(most) {
		return Coded{}, firstBad(x, 0, 0)
	}
	g := f.Rule(group{f: f, d: d, global: over, most: most, codes: codes}, x)
	if !isFinite(g.scale) || !isFinite(over) {
		return Coded{}, &Bad{0, x[0]}
	}
	return Coded{codes, g.scale, g.second}, nil
}

// Decode returns the numbers of a group in float32.
func (f *Groups) Decode(dst []float32, c *Coded, over float32) {
	scale := c.Scale
	switch {
	case f.Size == 0:
		scale = over
	case f.Global && f.Divides:
		scale /= over
	case f.Global:
		scale *= over
	}
	for i, code := range c.Codes {
		switch {
		case f.Second == Bias:
			dst[i] = float32(float32(code)*scale) + c.Second
		case f.Second == ZeroPoint:
			dst[i] = (float32(code) - c.Second) * scale
		case f.Bits == 4:
			dst[i] = e2m1[code] * scale
		case f.E5M2:
			dst[i] = FromE5M2(code) * scale
		default:
			dst[i] = FromE4M3(code) * scale
		}
	}
}
