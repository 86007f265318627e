package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A table of 32 words is looked up by its bytes: VPERMB is an instruction of one
// port where VPERMW takes two. An index is a word whose bytes have the code from
// bit 1 on, and in bit 0 which byte of the number they are for.

// setIndex keeps the mask of four bits from bit 1 on.
func setIndex(z *zkernel) {
	if !z.float32() {
		z.declare("code", func() VecVirtual { return all(0x1E1E1E1E) })
	}
}

// index makes an index of codes of four bits, in place: those of the first
// sixteen numbers of a table, or of the second.
func (z *zkernel) index(x VecVirtual, second int) VecVirtual {
	VPTERNLOGD_BCST(Imm(andOr), dwords(0x01000100|uint32(second)*0x20202020), z.shared["code"], x)
	return x
}

// placed writes what a table has for 32 indices.
func (z *zkernel) placed(at int, index VecVirtual, t ztable) {
	x := ZMM()
	VPERMB(t[0], index, x)
	VMOVDQU64(x, z.to(at))
}

// found writes what a table has for 32 codes of four bits as nibblesOf gives
// them.
func (z *zkernel) found(at int, c zcodes, second int, t ztable) {
	if z.float32() {
		z.lookup(at, c, t)
		return
	}
	z.placed(at, z.index(c[0], second), t)
}

// couple writes 32 codes under one table of sixteen and 32 under another, and
// rounds both tables at once.
func (z *zkernel) couple(at, next int, c, d zcodes, a, b VecVirtual) {
	if z.float32() {
		z.lookup(at, c, z.table16(a))
		z.lookup(next, d, z.table16(b))
		return
	}
	t := z.table32(a, b)
	z.found(at, c, 0, t)
	z.found(next, d, 1, t)
}

// nibblesOf is 32 codes of 16 bytes: the low nibbles, then the high ones. To
// words they stand from bit 1 on in both bytes of each.
func (z *zkernel) nibblesOf(off int) zcodes {
	if z.float32() {
		return z.picked(sixteen(z.from(off)), func(e int) int { return e % 16 }, func(e int) int { return e / 16 * 4 })
	}
	x := ZMM()
	VPERMB(sixteen(z.from(off)), zload(bytes64(func(i int) int { return i / 2 % 16 })), x)
	VPROLVD(dwords64(func(i int) int { return [2]int{1, 32 - 3}[i/8] }), x, x)
	return zcodes{x}
}

// nibblePair is the low nibbles of 32 bytes, and the high ones, each as nibblesOf
// gives them.
func (z *zkernel) nibblePair(off int) (low, high zcodes) {
	if z.float32() {
		c := z.codes(z.from(off))
		return c, z.above(c, 4)
	}
	x, a, b := twins(z.from(off)), ZMM(), ZMM()
	VPADDW(x, x, a)
	VPSRLW(Imm(3), x, b)
	return zcodes{a}, zcodes{b}
}

// twins is 32 bytes, each in both bytes of a word.
func twins(m Mem) VecVirtual {
	x := ZMM()
	VMOVDQU32(m, x.AsY())
	VPERMB(x, zload(bytes64(func(i int) int { return i / 2 })), x)
	return x
}
