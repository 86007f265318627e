package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/reg"
)

// A lifted is what a [little] is, but 2^128 times as large: what bits are more is then
// one bit alone, which a number's sign can join in one instruction, which zero does not
// have, and which is cleared last.
type lifted struct{ times, half, unit VecVirtual }

const (
	liftedShift = 128
	liftedBit   = 1 << 30
)

// newLifted takes a scale, and the factor that makes half of what is a product.
func newLifted(d, half VecVirtual) *lifted {
	return &lifted{d, half, load(dwords(liftedBit))}
}

// larger makes x the larger one of p, as bits, and of half of that, x times half,
// added to the unit with its sign. x may be p.
func (l *lifted) larger(p, x VecVirtual) {
	unit := YMM()
	VPSIGND(p, l.unit, unit)
	VFMADD231PS(l.half, x, unit)
	VPMAXUD(p, unit, x)
}

// join is what [op.join] is.
func (l *lifted) join(o op, p pair, x VecVirtual) {
	switch o.name {
	case "Affine": // both numbers of the sum are lifted
		o.join(pair{l.times, p.m}, x)
		l.larger(x, x)
	default:
		o.by(p, x, func() {
			q := YMM()
			VMULPS(l.times, x, q)
			l.larger(q, x)
		})
	}
}

// twice multiplies whole numbers, which cannot underflow, and what that rounds to
// by a factor.
func (l *lifted) twice(x, factor VecVirtual) {
	p := YMM()
	VMULPS(l.times, x, x)
	VMULPS(factor, x, p)
	l.larger(p, x)
}
