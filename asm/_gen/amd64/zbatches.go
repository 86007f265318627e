package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A batch is eight blocks whose float16 are made ready together. They are copied
// while the batch before is decoded: a load over several young stores waits.
const batch = 8

// batches is a kernel of small blocks. A batch of which some scale is infinite or
// NaN has a second body; blocks that are left are decoded one by one.
func (z *zkernel) batches(l zlayout, n Register) {
	fronts, next := AllocLocal(32), GP64()
	MOVQ(z.src, next)
	ifMore := func(blocks int, jump func(Op), label string) {
		CMPQ(n, Imm(uint64(blocks)))
		jump(LabelRef(label))
	}
	ifMore(batch, JLT, "rest")
	z.copied(fronts, next, l, batch)

	Label("batch")
	x := z.widened(fronts, l.halves)
	ifMore(2*batch, JLT, "ready")
	z.copied(fronts, next, l, batch)
	Label("ready")
	z.ifOdd(x, l.halves)
	eight := func() {
		s := zkeep(z, x)
		of := func(i int) zscales { return zscales{s.at.Offset(4 * i * l.halves)} }
		for i := 0; i < batch; i += 2 {
			l.small(z, l.bytes, of(i), of(i+1))
			z.behind(l, 2)
		}
		SUBQ(Imm(batch), n)
		ifMore(batch, JGE, "batch")
	}
	z.finite(eight)

	Label("rest")
	TESTQ(n, n)
	JZ(LabelRef("done"))
	Label("block")
	one := AllocLocal(32)
	z.copied(one, next, l, 1)
	d := z.widened(one, l.halves)
	z.settled(d)
	l.small(z, l.bytes, zkeep(z, d))
	z.behind(l, 1)
	DECQ(n)
	JNZ(LabelRef("block"))
	Label("done")
	zend()

	Label("odd")
	z.settled(x)
	z.used = 0
	eight()
	JMP(LabelRef("rest"))
}

// behind goes to where n blocks end.
func (z *zkernel) behind(l zlayout, n int) {
	z.advance(n*l.bytes, n*l.elems)
	if l.bytes == 0 {
		LEAQ(Mem{Base: z.src, Index: z.size, Scale: uint8(n)}, z.src)
	}
}

// copied puts the float16 at the front of n blocks side by side and goes to where
// these end.
func (z *zkernel) copied(to Mem, from Register, l zlayout, n int) {
	for i := range n {
		r, m := GP32(), Mem{Base: from, Disp: i * l.bytes}
		if l.halves == 1 {
			MOVWLZX(m, r)
			MOVW(r.As16(), to.Offset(2*i))
		} else {
			MOVL(m, r)
			MOVL(r, to.Offset(4*i))
		}
		if l.bytes == 0 {
			ADDQ(z.size, from)
		}
	}
	if l.bytes > 0 {
		ADDQ(U32(n*l.bytes), from)
	}
}

// widened makes float32 of eight float16, or of sixteen.
func (z *zkernel) widened(m Mem, halves int) VecVirtual {
	x := ZMM()
	if halves == 1 {
		VCVTPH2PS(m, x.AsY())
	} else {
		VCVTPH2PS(m, x)
	}
	return x
}

// special is the classes of numbers that are infinite or NaN: quiet, of both signs,
// signaling.
const special = 0x99

// ifOdd leaves for "odd" where one of eight or sixteen numbers is infinite or
// NaN.
func (z *zkernel) ifOdd(x VecVirtual, halves int) {
	k := K()
	if halves == 1 {
		VFPCLASSPSY(Imm(special), x.AsY(), k)
	} else {
		VFPCLASSPSZ(Imm(special), x, k)
	}
	KORTESTW(k, k)
	JNZ(LabelRef("odd"))
}
