package zmm

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// A Join is what makes a number of a code q, a scale s, and what else there is.
// Each step rounds to float32.
type Join string

const (
	JoinScale  Join = "Scale"  // q*s
	JoinShift  Join = "Shift"  // (q-z)*s
	JoinAffine Join = "Affine" // q*s + z
	JoinTwice  Join = "Twice"  // (q*s)*c, c being the same for all runs
)

// A Range is magnitudes that numbers of runs have in models, from the least to
// below the most; zero is one of them. Those of a scale and of its zero point or
// minimum together give numbers that are normal or zero: at least 2^-123, below 2^112.
type Range struct{ Least, Most int } // exponents

var (
	OrdinaryScale = Range{-80, 80}
	OrdinaryOther = map[Join]Range{JoinShift: {-20, 31}, JoinAffine: {-100, 100}}
)

// Unless leaves for a label where the number at m is out of range.
func (r Range) Unless(m Mem, label Place) {
	bits, zero := GP32(), NewLabel("zero")
	MOVL(m, bits)
	ADDL(bits, bits) // without its sign
	JZ(zero.Ref())
	SUBL(U32(uint32(127+r.Least)<<24), bits)
	CMPL(bits, U32(uint32(r.Most-r.Least)<<24))
	JCC(label.Ref())
	zero.Here()
}

// From is the least magnitude, as bits, and Width how many there are.
func (r Range) From() Mem  { return Dwords(uint32(127+r.Least) << 23) }
func (r Range) Width() Mem { return Dwords(uint32(r.Most-r.Least) << 23) }
