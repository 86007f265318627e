package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A pairLoop is nibbles of a book in runs of sixteen: chunks of two runs.
type pairLoop struct {
	*runs
	high             bool
	v                values
	book             looked        // to F32
	most             Register      // what [numbersInBounds] says of the book
	d                [2]VecVirtual // the scales, turned
	l                [2]looked     // their tables, but to F32
	x                [4]VecVirtual // the numbers, to F32
	mask, less, sign Register
}

func pairKernels() {
	for t := range targets {
		pairKernel("bookPairs", false, t)
		pairKernel("bookPairsHigh", true, t)
	}
}

func pairKernel(name string, high bool, t int) {
	p := &pairLoop{high: high}
	runKernel(name, ", book *float32", "decodes n pairs of runs of 16 nibbles; there is one chunk.", t, true, 16, 32,
		func(k *runs) {
			p.runs = k
			book, base := AllocLocal(64), Load(Param("book"), GP64())
			p.v = k.arrange(Mem{Base: base}, book)
			k.declare("low", func(y VecVirtual) { VMOVDQU(bytes32(0x0F), y) })
			if k.float32() {
				p.book = k.planes(load(p.v.a), load(p.v.b))
			}
			p.setLittle()
			k.rare = p.rare
		},
		func(*runs) {},
		func(*runs) {
			p.ifLittle()
			p.d = p.turnedPair()
			Label("plain")
			if p.float32() {
				p.x = [4]VecVirtual(p.numbersAt(p.codes(), p.book))
				for i, x := range p.x {
					p.multiplied(p.d[i/2], x)
					p.settle(x, true)
				}
			} else {
				for i := range p.d {
					p.l[i] = p.table16(p.v, true, func(x VecVirtual) { p.multiplied(p.d[i], x) })
				}
			}
			Label("write")
			if p.float32() {
				for i, x := range p.x {
					VMOVUPS(x, p.to(8*i))
				}
			} else {
				p.lookupTwo(0, p.codes(), p.l[0], p.l[1])
			}
			ADDQ(Imm(4), p.a)
		})
}

// turnedPair is both scales, turned.
func (p *pairLoop) turnedPair() [2]VecVirtual {
	both := YMM()
	VPBROADCASTQ(Mem{Base: p.a}, both)
	turned(both)
	return spreadPair(both)
}

func spreadPair(both VecVirtual) [2]VecVirtual { return [2]VecVirtual{firsts(both), seconds(both)} }

func (p *pairLoop) codes() VecVirtual { return p.nibblePairs(p.high, 32)[0] }

// setLittle sets what two scales at once are compared by: a magnitude that is large
// enough is carried into the sign, and so is any under a book out of bounds.
func (p *pairLoop) setLittle() {
	p.most = numbersInBounds(load(p.v.a), load(p.v.b))
	mask, less, sign, high := GP64(), GP64(), GP64(), GP64()
	MOVQ(U64(0x7FFFFFFF7FFFFFFF), mask)
	MOVQ(U64(0x8000000080000000), sign)
	MOVL(p.most, high.As32())
	MOVL(p.most, less.As32())
	SHLQ(Imm(32), high)
	ORQ(high, less)
	NEGQ(less) // the upper one is one less still
	ADDQ(sign, less)
	p.mask, p.less, p.sign = mask, less, sign
}

// ifLittle leaves for "little" where one of the scales is small or zero.
func (p *pairLoop) ifLittle() {
	r := GP64()
	MOVQ(Mem{Base: p.a}, r)
	ANDQ(p.mask, r)
	ADDQ(p.less, r)
	ANDNQ(p.sign, r, r)
	JNZ(LabelRef("little"))
}

// rare is pairs where a scale is little. If the other one is small too, as that of
// [bookTwo], both are lifted, else each takes its own way.
func (p *pairLoop) rare() {
	Label("little")
	if p.narrow {
		p.flushedPair()
		return
	}
	var number [4]VecVirtual
	if p.float32() {
		number = [4]VecVirtual(p.numbersAt(p.codes(), p.book))
	}
	r, together := GP64(), GP64()
	MOVQ(Mem{Base: p.a}, r)
	MOVQ(U64((1<<31-littleTogether)*(1<<32+1)), together)
	ANDQ(p.mask, r)
	ADDQ(together, r)
	TESTQ(p.sign, r)
	JNZ(LabelRef("apart"))
	both, half := YMM(), YMM()
	VPBROADCASTQ(Mem{Base: p.a}, both)
	shift(both, liftedShift)
	VMULPS(floats(0.5), both, half) // also of zero
	d, halves := spreadPair(both), spreadPair(half)
	for i := range d {
		p.lift(i, number, newLifted(d[i], halves[i]))
	}
	JMP(LabelRef("write"))
	Label("apart")
	for i, d := range p.turnedPair() {
		label := []string{"First", "Second"}[i]
		r := GP32()
		MOVL(Mem{Base: p.a, Disp: 4 * i}, r)
		and32(r, 0x7FFFFFFF)
		DECL(r)
		CMPL(r, p.most)
		JCC(LabelRef("ordinary" + label))
		VXORPS(p.minus, d, d)
		shift(d, liftedShift)
		slow := newLifted(d, YMM())
		VPSUBD(dwords(1<<23), d, slow.half)
		p.lift(i, number, slow)
		JMP(LabelRef("next" + label))
		Label("ordinary" + label)
		p.numbers(i, number, func(x VecVirtual) { p.multiplied(d, x) })
		Label("next" + label)
	}
	JMP(LabelRef("write"))
}

func (p *pairLoop) lift(i int, number [4]VecVirtual, slow *lifted) {
	p.lifted = true
	p.numbers(i, number, func(x VecVirtual) { slow.join(ops[0], pair{}, x) })
	p.lifted = false
}

// numbers makes those of run i, or its table.
func (p *pairLoop) numbers(i int, number [4]VecVirtual, join func(x VecVirtual)) {
	if !p.float32() {
		carry(p.l[i], p.table16(p.v, true, join))
		return
	}
	for j := 2 * i; j < 2*i+2; j++ {
		VMOVAPS(number[j], p.x[j])
		join(p.x[j])
		p.settle(p.x[j], true)
	}
}

// flushedPair is [runs.flushed] of both scales. One that is zero stays so.
func (p *pairLoop) flushedPair() {
	d := p.turnedPair()
	carry(p.d[:], d[:])
	for _, d := range p.d {
		mag, none := YMM(), YMM()
		VPXOR(none, none, none)
		VPAND(dwords(0x7FFFFFFF), d, mag)
		VPXOR(mag, d, d)
		VPCMPEQD(none, mag, none)
		VPMAXSD(dwords(littleMost), mag, mag)
		VPANDN(mag, none, mag)
		VPOR(mag, d, d)
	}
	JMP(LabelRef("plain"))
}
