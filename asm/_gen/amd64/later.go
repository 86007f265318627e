package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Infinity times zero and infinity less infinity are minus NaN on this processor.
// To see in each table and among all numbers whether there is one costs a tenth of
// the time, and only scales that are not finite bring them about: where one was
// seen, what was written since the last look is looked through.
type later struct {
	infinite Register // signs where a scale was not finite
	from     Register // written, and not looked at
	period   int      // blocks from look to look, a power of two, less one
}

// laterSigns is for kernels to BF16 that note their scales.
func (k *kernel) laterSigns(elems int) {
	k.later = &later{GP32(), GP64(), 512/elems - 1}
	XORL(k.later.infinite, k.later.infinite)
	MOVQ(k.dst, k.later.from)
}

// note remembers whether one of two float16 is not finite: to an exponent of
// ones another one is added, and is carried into the sign.
func (k *kernel) note(m Mem) {
	if k.later != nil {
		r := GP32()
		MOVL(m, r)
		and32(r, 0x7FFF7FFF)
		ADDL(U32(0x04000400), r)
		ORL(r, k.later.infinite)
	}
}

// unsigned takes the sign off words that are NaN, here or later.
func (k *kernel) unsigned(w VecVirtual) {
	if k.later == nil && !k.ordinary {
		unsigned(w)
	}
}

// unsignWritten takes the sign off NaN among the numbers written since it did so
// last, if there can be one. It looks at once where n is nil, else when n, of which
// each round takes step, comes to a multiple of the period.
func (k *kernel) unsignWritten(label string, step int, n Register) {
	if k.later == nil {
		return
	}
	if n != nil {
		TESTQ(U32(k.later.period&-step), n)
		JNZ(LabelRef(label + "NotYet"))
	}
	TESTL(U32(0x80008000), k.later.infinite)
	JZ(LabelRef(label + "Finite"))
	Label(label + "Unsigned")
	for i := range 2 {
		w := load(Mem{Base: k.later.from, Disp: 32 * i})
		unsigned(w)
		VMOVDQU(w, Mem{Base: k.later.from, Disp: 32 * i})
	}
	ADDQ(Imm(64), k.later.from)
	CMPQ(k.later.from, k.dst)
	JNE(LabelRef(label + "Unsigned"))
	XORL(k.later.infinite, k.later.infinite)
	Label(label + "Finite")
	MOVQ(k.dst, k.later.from)
	Label(label + "NotYet")
}
