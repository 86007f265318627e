package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zbookPairs is nibbles of a book in runs of sixteen, two runs at a time. To
// words they have a table of 32, to F32 each run has a register of its own.
type zbookPairs struct {
	book, order VecVirtual
	cuts        VecVirtual    // where indices are cut out of eight bytes,
	upper       OpmaskVirtual // of which these are of the second run
	// Of two scales, halves of a qword: their magnitudes; and what added to those
	// sets the top bit of one that is special, of one that is large enough, and of
	// one that is not zero.
	magnitudes, special, large, some, tops Register
}

func zpairKernels() {
	for _, t := range ztargets() {
		p := &zbookPairs{}
		l := zloop{in: 16, elems: 32, before: p.begin, run: func(*zruns) {}, chunk: p.runs}
		if !targets[t].wide || targets[t].narrow {
			l.run = p.ifOdd
			l.chunk = func(z *zruns) { z.finite(func() { p.table(z, p.plain) }) }
			l.other = p.other
		}
		zrunsKernel("bookPairs", t, ", book *float32", "decodes n pairs of runs of 16 nibbles; there is one chunk.", minus, l)
	}
}

func (p *zbookPairs) begin(z *zruns) {
	p.book = zload(Mem{Base: Load(Param("book"), GP64())})
	zcanonical(p.book)
	p.order = zload(dwords64(func(i int) int { return 4 * i }))
	if z.float32() {
		return
	}
	setIndex(z.zkernel)
	p.cuts = zload(bytes64(func(i int) int { return (i/2%16*4 + 63) % 64 }))
	p.upper = mask(0xF0)
	both := func(half uint32) Register {
		r := GP64()
		MOVQ(U64(uint64(half)<<32|uint64(half)), r)
		return r
	}
	p.magnitudes, p.tops, p.special = both(0x7FFFFFFF), both(0x80000000), both(0x00800000)
	// A book that has a special number has no table.
	k := K()
	VFPCLASSPSZ(Imm(special), p.book, k)
	KORTESTW(k, k)
	CMOVQNE(p.tops, p.special)
	if !short {
		return
	}
	p.some = both(0x7FFFFFFF)
	p.large = GP64()
	m, high := fitting(p.book).(GPVirtual), GP64()
	MOVL(U32(0x7FFFFFFF), p.large.(GPVirtual).As32())
	SUBL(m, p.large.(GPVirtual).As32())
	and32(p.large.(GPVirtual).As32(), 0x7FFFFFFF) // none is large enough where m is all bits
	MOVQ(p.large, high)
	SHLQ(Imm(32), high)
	ORQ(high, p.large)
}

// ifOdd leaves for "odd" where the runs need registers.
func (p *zbookPairs) ifOdd(z *zruns) {
	m, odd := GP64(), GP64()
	MOVQ(Mem{Base: z.a}, m)
	ANDQ(p.magnitudes, m)
	LEAQ(Mem{Base: m, Index: p.special, Scale: 1}, odd)
	if short {
		some, large := GP64(), GP64()
		LEAQ(Mem{Base: m, Index: p.some, Scale: 1}, some)
		LEAQ(Mem{Base: m, Index: p.large, Scale: 1}, large)
		ANDNQ(some, large, some)
		TESTQ(p.tops, some)
		JNZ(LabelRef("small"))
	}
	TESTQ(p.tops, odd)
	JNZ(LabelRef("odd"))
}

// plain is the book times a scale that is a plain number, settled times another.
func (p *zbookPairs) plain(z *zruns, scale Mem, x VecVirtual) { VMULPS_BCST(scale, p.book, x) }

func (p *zbookPairs) settled(z *zruns, scale Mem, x VecVirtual) {
	VMULPS(z.number(scale, true), p.book, x)
}

// table is a register for both.
func (p *zbookPairs) table(z *zruns, product func(z *zruns, scale Mem, x VecVirtual)) {
	var x [2]VecVirtual
	for i := range x {
		x[i] = ZMM()
		product(z, Mem{Base: z.a, Disp: 4 * i}, x[i])
	}
	ADDQ(Imm(4), z.a)
	t, at := z.table32(x[0], x[1]), ZMM()
	VPBROADCASTQ(z.from(0), at)
	VPBROADCASTQ(z.from(8), p.upper, at)
	VPMULTISHIFTQB(at, p.cuts, at)
	VPTERNLOGD(Imm(andOr), words64(func(i int) int { return 0x0100 + i/16*0x2020 }), z.shared["code"], at)
	z.placed(0, at, t)
}

// other is pairs that have a scale which is infinite or NaN, or too small for the
// instruction.
func (p *zbookPairs) other(z *zruns) {
	body := func(label string) {
		Label(label)
		p.table(z, p.settled)
		z.advance(16, 32)
	}
	body("odd")
	if short {
		JMP(LabelRef("next"))
		Label("small")
		z.inSteps()
		body("steps")
	}
}

// runs is a register of numbers for each run.
func (p *zbookPairs) runs(z *zruns) {
	var x [2]VecVirtual
	for i := range x {
		d := z.number(Mem{Base: z.a, Disp: 4 * i}, true)
		x[i] = ZMM()
		VPMULTISHIFTQB_BCST(z.from(8*i), p.order, x[i])
		VPERMPS(p.book, x[i], x[i])
		VMULPS(d, x[i], x[i])
	}
	ADDQ(Imm(4), z.a)
	z.put(0, x[0], x[1])
}
