package form

import (
	"math"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Reversible form can tell whether quantizing its decoded values gives its codes again.
// Back calls count for each value; first is the element of the weight that values begin
// with.
type Reversible interface {
	Back(parts [][]byte, first int64, values []float32, count func(at int64, same bool))
}

func (f *Coded4) Back(parts [][]byte, first int64, values []float32, count func(at int64, same bool)) {
	codebook := f.codebook(parts)
	var products [16]float32
	block := int64(-1)
	for i, x := range values {
		at := first + int64(i)
		if at/f.Block != block {
			block = at / f.Block
			scale := f.absmax(parts, block, first/f.Block)
			for c, v := range codebook {
				products[c] = v * scale
			}
		}
		stored := parts[codedCodes][at/2-first/2]
		if at%2 == 0 {
			stored >>= 4
		}
		count(at, nearestCode(&products, &codebook, x) == stored&15)
	}
}

// nearestCode returns the code whose product is nearest to x. Zeros differ by
// their sign.
func nearestCode(products, codebook *[16]float32, x float32) byte {
	best := 0
	for c := 1; c < 16; c++ {
		if closer(products, codebook, x, c, best) {
			best = c
		}
	}
	return byte(best)
}

func closer(products, codebook *[16]float32, x float32, c, best int) bool {
	d, least := distance(products[c], x), distance(products[best], x)
	if d != least {
		return d < least
	}
	if same, was := math.Signbit(float64(products[c])) == math.Signbit(float64(x)),
		math.Signbit(float64(products[best])) == math.Signbit(float64(x)); same != was {
		return same
	}
	return math.Abs(float64(codebook[c])) < math.Abs(float64(codebook[best]))
}

func distance(a, b float32) float64 { return math.Abs(float64(a) - float64(b)) }

func (f *Rows8) Back(parts [][]byte, first int64, values []float32, count func(at int64, same bool)) {
	for i, x := range values {
		scale := Numbers[tensor.F32](parts[1], int64(i)/f.Cols)
		back := math.RoundToEven(float64(x) / float64(scale) * 127)
		code := int8(max(-128, min(127, back)))
		if scale == 0 {
			code = 0
		}
		count(first+int64(i), byte(code) == parts[0][i])
	}
}
