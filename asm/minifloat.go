package asm

import "math"

// A minifloat is the layout of a small float: sign, exponent, mantissa from the top.
type minifloat struct {
	exp, man uint // bits
	bias     int
	// special says what the top codes mean.
	special special
}

type special uint8

const (
	finite special = iota // every code is a number
	ieee                  // the top exponent is infinity and NaN
	fn                    // only the top code is NaN
	fnuz                  // minus zero is NaN
)

// value decodes one code: OCP 8-bit floating point specification 1.0 for FN and IEEE
// forms, OCP microscaling 1.0 for the 4- and 6-bit forms, and the FNUZ forms of Noune et
// al., "8-bit numerical formats for deep neural networks".
func (m minifloat) value(code uint8) float32 {
	top := uint8(1)<<m.exp - 1
	man := code & (1<<m.man - 1)
	exp := code >> m.man & top
	negative := code>>(m.man+m.exp)&1 == 1
	nan := float32(math.NaN())
	switch {
	case m.special == ieee && exp == top && man != 0,
		m.special == fn && exp == top && man == 1<<m.man-1,
		m.special == fnuz && negative && exp == 0 && man == 0:
		return nan
	case m.special == ieee && exp == top:
		return float32(math.Inf(1 - 2*int(code>>(m.man+m.exp)&1)))
	}
	significand, scale := float64(man), 1-m.bias-int(m.man)
	if exp > 0 {
		significand, scale = float64(man)+float64(uint(1)<<m.man), int(exp)-m.bias-int(m.man)
	}
	v := float32(math.Ldexp(significand, scale))
	if negative {
		v = -v
	}
	return v
}

func (m minifloat) table() (t [256]float32) {
	for i := range t {
		t[i] = m.value(uint8(i))
	}
	return t
}

// A Float is a format of small floats.
type Float uint8

// The small floats. The first four have eight bits and kernels of their own.
const (
	E4M3 Float = iota
	E5M2
	E4M3FNUZ
	E5M2FNUZ
	E2M3
	E3M2
	E2M1
)

// floats8 is the number of formats of eight bits.
const floats8 = 4

var values = [...][256]float32{
	E4M3:     minifloat{4, 3, 7, fn}.table(),
	E5M2:     minifloat{5, 2, 15, ieee}.table(),
	E4M3FNUZ: minifloat{4, 3, 8, fnuz}.table(),
	E5M2FNUZ: minifloat{5, 2, 16, fnuz}.table(),
	E2M3:     minifloat{2, 3, 1, finite}.table(),
	E3M2:     minifloat{3, 2, 3, finite}.table(),
	E2M1:     minifloat{2, 1, 1, finite}.table(),
}

func (f Float) String() string {
	return [...]string{"E4M3", "E5M2", "E4M3FNUZ", "E5M2FNUZ", "E2M3", "E3M2", "E2M1"}[f]
}

// Value returns the number of a code. Bits above the format's are ignored.
func (f Float) Value(code uint8) float32 { return values[f][code] }

// Decode decodes one code per byte.
func (f Float) Decode(dst []float32, src []byte) {
	table := &values[f]
	for i, c := range src {
		dst[i] = table[c]
	}
}
