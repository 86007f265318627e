package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A batch is eight blocks whose float16 are made ready together. A gather brings
// them while the batch before is decoded; a load over several young stores would
// wait.
const batch = 8

// batches is a kernel of small blocks. It stops before a batch of which some scale is
// infinite or NaN, and before the last blocks, if they are fewer than a batch.
func (z *zkernel) batches(l zlayout, n Register) {
	CMPQ(n, Imm(batch))
	JLT(LabelRef("stop"))
	places, next, x := YMM(), ZMM(), ZMM()
	z.fronts(l, places)
	z.gathered(z.from(0), places, l.halves, next)

	Label("batch")
	VMOVAPS(next, x)
	CMPQ(n, Imm(2*batch))
	JLT(LabelRef("ready"))
	ahead := z.from(batch * l.bytes)
	if l.bytes == 0 {
		ahead = Mem{Base: GP64()}
		LEAQ(Mem{Base: z.src, Index: z.size, Scale: batch}, ahead.Base)
	}
	z.gathered(ahead, places, l.halves, next)
	Label("ready")
	z.ifSpecial(x, l.halves, "stop")
	s := zkeep(z, x)
	of := func(i int) zscales { return zscales{s.at.Offset(4 * i * l.halves)} }
	for i := 0; i < batch; i += 2 {
		l.small(z, l.bytes, of(i), of(i+1))
		z.behind(l, 2)
	}
	SUBQ(Imm(batch), n)
	CMPQ(n, Imm(batch))
	JGE(LabelRef("batch"))
}

// behind goes to where n blocks end.
func (z *zkernel) behind(l zlayout, n int) {
	z.advance(n*l.bytes, n*l.elems)
	if l.bytes == 0 {
		LEAQ(Mem{Base: z.src, Index: z.size, Scale: uint8(n)}, z.src)
	}
}

// fronts is where the blocks of a batch begin.
func (z *zkernel) fronts(l zlayout, places VecVirtual) {
	var at [batch]uint32
	for i := range at {
		at[i] = uint32(i * max(1, l.bytes))
	}
	VMOVDQU(dwords(at[:]...), places)
	if l.bytes == 0 {
		size := YMM()
		VPBROADCASTD(z.size.(GPVirtual).As32(), size)
		VPMULLD(size, places, places)
	}
}

// gathered is the float16 at the fronts of eight blocks as float32, one or two of
// each.
func (z *zkernel) gathered(from Mem, places VecVirtual, halves int, x VecVirtual) {
	y, each := YMM(), K()
	KXNORB(K0, K0, each)
	VPXOR(y, y, y)
	from.Index, from.Scale = places, 1
	VPGATHERDD(from, each, y)
	if halves == 2 {
		VCVTPH2PS(y, x)
		return
	}
	VPMOVDW(y, y.AsX())
	VCVTPH2PS(y.AsX(), x.AsY())
}

// special is the classes of numbers that are infinite or NaN: quiet, of both signs,
// signaling.
const special = 0x99

// ifSpecial leaves where one of eight or sixteen numbers is infinite or NaN.
func (z *zkernel) ifSpecial(x VecVirtual, halves int, label string) {
	k := K()
	if halves == 1 {
		VFPCLASSPSY(Imm(special), x.AsY(), k)
	} else {
		VFPCLASSPSZ(Imm(special), x, k)
	}
	KORTESTW(k, k)
	JNZ(LabelRef(label))
}
