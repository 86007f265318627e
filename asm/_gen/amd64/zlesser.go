package main

import (
	"bytes"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	andOrNot = 0xD0 // a & (b | ^c)
	orAndNot = 0xF4 // a | b & ^c
	andXor   = 0x6A // a & b ^ c
)

// A zlesser is a scale above zero so small that products of small floats may be
// subnormal: an instruction that makes such a number, or takes one, waits long, and
// none here does. Numbers are 2^-64 of what they are, so that all are below 2; all
// have the sign, but NaN; and the scale, without its sign, is 2^192 times what it is.
//
// Of the product and of half of it added to 2, of the sign of the product, the one of
// larger magnitude is right but for bit 30, which is set and must not be: in sums up
// to 4 the last bit is that of subnormal numbers. Of infinity and NaN alone the number
// itself has that bit, and they keep it.
type zlesser struct {
	z           *zruns
	turn        Mem // the scale's sign, for codes
	times, half VecVirtual
	unit, sign  VecVirtual // 2, which is that bit alone; 80000000
	nanUpper    VecVirtual
}

// newLesser is what is the same for all runs.
func newLesser(z *zruns) *zlesser {
	return &zlesser{z: z, unit: all(0x40000000), sign: all(0x80000000), nanUpper: all(0x7F7F7F7F)}
}

// of takes the scale of a run, at z.a, by few instructions of vectors.
func (s *zlesser) of() {
	s.times, s.half = ZMM(), ZMM()
	bits, size := GP32(), GP32()
	MOVL(Mem{Base: s.z.a}, bits)
	MOVL(bits, size)
	and32(size, 0x7FFFFFFF)
	s.turn = turned64(bits)
	VPBROADCASTD(raisedBy(size, 192), s.times)
	VPSUBD_BCST(dwords(1<<23), s.times, s.half)
}

// turned64 is where 64 bytes have the sign of the number whose bits those are.
func turned64(bits GPVirtual) Mem {
	m := Mem{Base: GP64()}
	SHRL(Imm(31), bits)
	SHLL(Imm(6), bits)
	LEAQ(turns(), m.Base)
	ADDQ(bits.As64(), m.Base)
	return m
}

// raisedBy is a small number without a sign, times a power of two.
func raisedBy(bits GPVirtual, power int) GPVirtual {
	// A subnormal one has its highest bit at first.
	first, up, normal, x := GP32(), GP32(), GP32(), GP32()
	XORL(first, first) // which the next instruction waits for
	BSRL(bits, first)
	LEAL(Mem{Base: bits, Disp: power << 23}, normal)
	MOVL(U32(23), up)
	SUBL(first, up)
	SHLXL(up, bits, x)
	ADDL(U32(127+power-149-1), first)
	SHLL(Imm(23), first)
	ADDL(first, x)
	CMPL(bits, U32(1<<23))
	CMOVLCC(normal, x)
	return x
}

// turns is bytes without a sign, and behind them bytes with one.
func turns() Mem { return data(append(make([]byte, 64), bytes.Repeat([]byte{0x80}, 64)...)) }

// product multiplies x; what it comes to has bit 30 where it should not.
func (s *zlesser) product(x VecVirtual) VecVirtual {
	sum, p := ZMM(), ZMM()
	VMOVAPS(x, sum)
	VPTERNLOGD(Imm(andOr), s.unit, s.sign, sum)
	VFMADD231PS(s.half, x, sum)
	VMULPS(s.times, x, p)
	VPMAXUD(sum, p, p)
	return p
}

// write writes the products of 32 numbers.
func (s *zlesser) write(at int, first, second VecVirtual) {
	z, a, b := s.z, s.product(first), s.product(second)
	if z.short {
		// Rounding to words is the same with that bit: the number is normal then.
		w, finite := shortened(a, b), K()
		VPTESTNMW(words64(func(int) int { return 0x2000 }), w, finite)
		VPSUBW(words64(func(int) int { return 0x4000 }), w, finite, w)
		VMOVDQU16(w, z.to(at))
		return
	}
	VPTERNLOGD(Imm(andOrNot), s.unit, first, a)
	VPTERNLOGD(Imm(andOrNot), s.unit, second, b)
	if z.float32() {
		VMOVUPS(a, z.to(at))
		VMOVUPS(b, z.to(at+16))
		return
	}
	VMOVDQU16(z.nearest(a, b), z.to(at))
}
