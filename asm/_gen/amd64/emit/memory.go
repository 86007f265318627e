package emit

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

var known = map[string]Mem{}

// Data is read-only memory of the given bytes, written once.
func Data(p []byte) Mem {
	key := string(p)
	if m, ok := known[key]; ok {
		return m
	}
	m := GLOBL(fmt.Sprintf("k%d", len(known)), NOPTR|RODATA)
	for i := 0; i < len(p); i += 8 {
		var v uint64
		for j := range 8 {
			v |= uint64(p[i+j]) << (8 * j)
		}
		DATA(i, U64(v))
	}
	known[key] = m
	return m
}

// Bytes32 repeats a pattern over 32 bytes.
func Bytes32(p ...byte) Mem {
	var out []byte
	for len(out) < 32 {
		out = append(out, p...)
	}
	return Data(out)
}

// repeated repeats little-endian numbers of some bytes.
func repeated[T uint16 | uint32 | uint64](size int, p []T) Mem {
	var b []byte
	for _, w := range p {
		for i := range size {
			b = append(b, byte(w>>(8*i)))
		}
	}
	return Bytes32(b...)
}

func Words(p ...uint16) Mem  { return repeated(2, p) }
func Dwords(p ...uint32) Mem { return repeated(4, p) }
func Qwords(p ...uint64) Mem { return repeated(8, p) }

func Floats(p ...float32) Mem {
	var b []uint32
	for _, f := range p {
		b = append(b, math.Float32bits(f))
	}
	return Dwords(b...)
}

// Variable is a variable of the Go package.
func Variable(name string) Mem {
	return Mem{Symbol: Symbol{Name: "·" + name}, Base: StaticBase}
}

// Load32 brings 32 bytes of memory into a register.
func Load32(m Mem) VecVirtual {
	y := YMM()
	VMOVDQU(m, y)
	return y
}

// Address is the address of a variable of the Go package.
func Address(name string) Register {
	r := GP64()
	LEAQ(Variable(name), r)
	return r
}

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

// Ahead is how far behind what is read the lines are that kernels ask for: the processor asks for none
// beyond a page. Row is the same where numbers are read twice, first for their largest magnitude, and the
// row after this one is asked for the second time: one of 4096 numbers.
const (
	Ahead = 4096
	Row   = 16384
)

// Ask asks for the lines of so many bytes, so far ahead.
func Ask(src Register, ahead, bytes int) {
	for at := 0; at < bytes; at += 64 {
		PREFETCHT0(Mem{Base: src, Disp: ahead + at})
	}
}
