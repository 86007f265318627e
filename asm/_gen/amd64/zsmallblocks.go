package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The small blocks: bytes, nibbles, and nibbles with fifth bits.

func setSize(z *zkernel) { z.size = Load(Param("size"), GP64()) }

// zq8 is 32 signed bytes at the end of a block.
func zq8(z *zkernel, _ int, s ...zscales) {
	for i, s := range s {
		codes := Mem{Base: z.src, Index: z.size, Scale: uint8(i + 1), Disp: -32}
		a, b := zsigned(codes), zsigned(codes.Offset(16))
		zfloats(a, b)
		z.put(32*i, s.by(a, 0), s.by(b, 0))
	}
}

func setBook(z *zkernel) {
	book := zsigned(Mem{Base: Load(Param("book"), GP64())})
	zfloats(book)
	z.shared["values"] = book
	setIndex(z)
}

// zbooked is 32 nibbles, places in a book: Q4_0 and IQ4_NL.
func zbooked(z *zkernel, bytes int, s ...zscales) {
	z.sixteens(2, bytes, s, func(s zscales) VecVirtual { return s.by(z.shared["values"], 0) })
}

func zq4_1(z *zkernel, bytes int, s ...zscales) {
	z.sixteens(4, bytes, s, func(s zscales) VecVirtual { return s.plus(z.shared["counted"]) })
}

// sixteens is a block of nibbles at off, or two that share a register of what
// their codes come to.
func (z *zkernel) sixteens(off, bytes int, s []zscales, numbers func(zscales) VecVirtual) {
	if len(s) == 2 {
		z.couple(0, 32, z.nibblesOf(off), z.nibblesOf(off+bytes), numbers(s[0]), numbers(s[1]))
		return
	}
	z.found(0, z.nibblesOf(off), 0, z.table16(numbers(s[0])))
}

// plus is x times the first scale and the second added. A float16 times a code is
// exact, so that it is rounded once anyway.
func (s zscales) plus(x VecVirtual) VecVirtual {
	y := ZMM()
	VPBROADCASTD(s.at.Offset(4), y)
	VFMADD231PS_BCST(s.at, x, y)
	return y
}

// setFifths keeps the numbers of 32 codes, from the first on.
func setFifths(first int) func(*zkernel) {
	return func(z *zkernel) {
		z.declare("values", func() VecVirtual { return zcounted(first) })
		z.declare("more", func() VecVirtual { return zcounted(first + 16) })
		setIndex(z)
	}
}

// fifths writes 32 codes: nibbles at off and their fifth bits in four bytes.
func (z *zkernel) fifths(at, bits, off int, t ztable) {
	c, k := z.nibblesOf(off), K()
	KMOVD(z.from(bits), k)
	if !z.float32() {
		x := z.index(c[0], 0)
		VPADDW(words64(func(int) int { return 0x2020 }), x, k, x)
		z.placed(at, x, t)
		return
	}
	for i, x := range c {
		VPANDD_BCST(dwords(15), x, x)
		if i == 1 {
			KSHIFTRD(Imm(16), k, k)
		}
		VPADDD_BCST(dwords(16), x, k, x)
	}
	z.lookup(at, c, t)
}

func zq5_0(z *zkernel, bytes int, s ...zscales) {
	for i, s := range s {
		t := z.table32(s.by(z.shared["values"], 0), s.by(z.shared["more"], 0))
		z.fifths(32*i, bytes*i+2, bytes*i+6, t)
	}
}

func zq5_1(z *zkernel, bytes int, s ...zscales) {
	for i, s := range s {
		t := z.table32(s.plus(z.shared["values"]), s.plus(z.shared["more"]))
		z.fifths(32*i, bytes*i+4, bytes*i+8, t)
	}
}
