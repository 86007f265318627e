// Package encode is what writes codes: the largest magnitudes of runs, the nearest
// codes of a codebook, and bytes.
package encode

import (
	"math"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// OneOver divides in double precision and rounds once more, which is the same
// number: no quotient of two floats is near the middle of two, subnormal or not,
// without being it. A division with a subnormal operand or quotient holds up all
// else.
func OneOver(s Op, x VecVirtual) {
	one := Into(XMM(), VMOVSD, Qwords(math.Float64bits(1)))
	VCVTSS2SD(s, one, x)
	VDIVSD(x, one, x)
	VCVTSD2SS(x, x, x)
}

// InverseFrom is one over a scale, of which the least is that.
func InverseFrom(least VecVirtual) func(scale Mem, x VecVirtual) {
	return func(scale Mem, x VecVirtual) {
		most := Into(XMM(), VMAXSS, scale, least) // the second where one is NaN: the scale
		OneOver(most, x)
	}
}
