package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Books whose numbers are shifted, or have a number added, under scales and second numbers
// of which products or sums may be subnormal. What no other way leads to is computed in
// double precision, once per run, of which each step is rounded to single.
//
// A scale from 2^-80 on, or zero, is plain: differences of 2^-46 and more it multiplies
// to normal numbers, and sums that cancel are normal, since products are. A shift below
// 2^-46 is faint: it changes none of the book's numbers but zero, so that only those are shifted.
const (
	plainScale = (127 - 80) << 23
	faintBook  = (127 - 46) << 23
)

// A joinedBook is such a book.
type joinedBook struct {
	*runs
	o    op
	p    pair
	most Register // zero if the book has numbers out of bounds
}

// ifOdd leaves for "exact", "little" and "faint".
func (b *joinedBook) ifOdd() {
	TESTL(b.most, b.most)
	JEQ(LabelRef("exact"))
	ifBelow(Mem{Base: b.a}, U32(plainScale-1), "little")
	if b.o.name == "Shift" {
		ifBelow(Mem{Base: b.b}, U32(faintBook-1), "faint")
	}
}

// odd is those runs. Plain is the label of plain ones, numbers of which are in p; write
// and exactly write a run by what joins, the latter what takes long.
func (b *joinedBook) odd(plain string, write, exactly func(name string, join func(x VecVirtual))) {
	if b.o.name == "Shift" {
		b.faint(write)
		b.littleShift(write)
	} else {
		b.littleAffine(plain, write)
	}
	b.exact(exactly)
}

func (b *joinedBook) faint(write func(name string, join func(x VecVirtual))) {
	Label("faint")
	VBROADCASTSS(Mem{Base: b.a}, b.p.d)
	turned(b.p.d)
	VBROADCASTSS(Mem{Base: b.b}, b.p.m) // which is no NaN
	ofZero, zero := b.ofZero(b.p), YMM()
	VXORPS(zero, zero, zero)
	write("faintly", func(x VecVirtual) {
		other := YMM()
		VCMPPS(Imm(0), zero, x, other)
		VMULPS(b.p.d, x, x)
		VBLENDVPS(other, ofZero, x, x)
	})
}

// littleShift lifts scales. Beside one a shift below 2^-100 is as good as that.
func (b *joinedBook) littleShift(write func(name string, join func(x VecVirtual))) {
	Label("little")
	size, sign, least := GP32(), GP32(), GP32()
	MOVL(Mem{Base: b.b}, size)
	MOVL(size, sign)
	and32(size, 0x7FFFFFFF)
	CMPL(size, U32((127+30)<<23))
	JCC(LabelRef("exact"))
	XORL(size, sign)
	MOVL(U32((127-100)<<23), least)
	TESTL(size, size)
	CMOVLEQ(size, least)
	CMPL(size, least)
	CMOVLCS(least, size)
	ORL(sign, size)
	VBROADCASTSS(Mem{Base: b.a}, b.p.d)
	VMOVD(size, b.p.m.AsX())
	VBROADCASTSS(b.p.m.AsX(), b.p.m)
	b.lifted = true
	shift(b.p.d, liftedShift)
	slow := newLifted(b.p.d, YMM())
	VPSUBD(dwords(1<<23), b.p.d, slow.half)
	write("slowly", func(x VecVirtual) { slow.join(b.o, b.p, x) })
	b.lifted = false
}

// littleAffine is little scales. Beside a second number that is not small 2^-100 is as good as
// any smaller one; else both numbers are lifted. A minus zero is not, as it keeps the sign of
// products that are zero.
func (b *joinedBook) littleAffine(plain string, write func(name string, join func(x VecVirtual))) {
	Label("little")
	bits, size := GP32(), YMM()
	MOVL(Mem{Base: b.b}, bits)
	CMPL(bits, U32(1<<31))
	JEQ(LabelRef("exact"))
	and32(bits, 0x7FFFFFFF)
	CMPL(bits, U32((127-40)<<23))
	JCC(LabelRef("beside"))
	b.smallAffine(write)
	Label("beside")
	b.numbersInto(b.o, b.p)
	VANDPS(dwords(0x7FFFFFFF), b.p.d, size)
	VXORPS(size, b.p.d, b.p.d)
	VPMAXUD(dwords((127-100)<<23), size, size)
	VORPS(size, b.p.d, b.p.d)
	JMP(LabelRef(plain))
}

// smallAffine lifts both numbers. Products under half of the scale are rounded as they are
// by adding 2, where they are less; the sum is of twice what is left.
func (b *joinedBook) smallAffine(write func(name string, join func(x VecVirtual))) {
	both, d, m := YMM(), b.p.d, b.p.m
	VBROADCASTSS(Mem{Base: b.a}, both)
	VBROADCASTSS(Mem{Base: b.b}, m)
	VPBLENDD(Imm(0xAA), m, both, both)
	shift(both, liftedShift)
	VMOVSHDUP(both, m)
	VMOVSLDUP(both, d)
	half := load(floats(0.5))
	VMULPS(half, d, d)
	l := newLifted(d, half)
	b.lifted = true
	write("slowly", func(x VecVirtual) {
		product, two := YMM(), YMM()
		VMULPS(d, x, product)
		VPANDN(l.unit, product, two)
		VPSIGND(product, two, two)
		VFMADD213PS(two, d, x)
		VSUBPS(two, x, x)
		VFMADD213PS(m, l.unit, x)
		if b.narrow { // of which only the sign is left
			VANDPS(dwords(1<<31), x, x)
		} else {
			l.larger(x, x)
		}
	})
	b.lifted = false
}

func (b *joinedBook) exact(write func(name string, join func(x VecVirtual))) {
	Label("exact")
	o, p := b.o, b.p
	b.numbersInto(o, p)
	VCVTPS2PD(p.d.AsX(), p.d)
	VCVTPS2PD(p.m.AsX(), p.m)
	write("exactly", func(x VecVirtual) {
		high := YMM()
		VEXTRACTI128(Imm(1), x, high.AsX())
		for _, x := range [2]VecVirtual{x, high} {
			VCVTPS2PD(x.AsX(), x)
			if o.name == "Shift" {
				VSUBPD(p.m, x, x)
				single(x)
			}
			VMULPD(p.d, x, x)
			if o.name == "Affine" {
				single(x)
				VADDPD(p.m, x, x)
			}
			VCVTPD2PSY(x, x.AsX())
		}
		VINSERTI128(Imm(1), high.AsX(), x, x)
	})
}

// single rounds doubles to single precision.
func single(x VecVirtual) {
	VCVTPD2PSY(x, x.AsX())
	VCVTPS2PD(x.AsX(), x)
}
