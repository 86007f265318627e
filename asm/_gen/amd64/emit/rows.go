package emit

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A Lattice is the addresses of up to sixteen rows at equal distances: those of
// every fourth, and two multiples of the distance.
type Lattice struct {
	bases          []Register
	Stride, triple Register
}

// LatticeOf is so many rows.
func LatticeOf(base, stride Register, rows int) Lattice {
	l := Lattice{bases: []Register{base}, Stride: stride, triple: GP64()}
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, l.triple)
	for i := 4; i < rows; i += 4 {
		next := GP64()
		LEAQ(Mem{Base: l.bases[i/4-1], Index: stride, Scale: 4}, next)
		l.bases = append(l.bases, next)
	}
	return l
}

// Advance goes to the next square in a row.
func (l Lattice) Advance(bytes Op) {
	for _, base := range l.bases {
		ADDQ(bytes, base)
	}
}

// Row is the address of a row.
func (l Lattice) Row(i int) Mem {
	base := l.bases[i/4]
	switch i % 4 {
	case 1:
		return Mem{Base: base, Index: l.Stride, Scale: 1}
	case 2:
		return Mem{Base: base, Index: l.Stride, Scale: 2}
	case 3:
		return Mem{Base: base, Index: l.triple, Scale: 1}
	}
	return Mem{Base: base}
}
