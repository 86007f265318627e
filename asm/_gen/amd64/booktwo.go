package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A bookTwo decodes runs of one chunk of 32 to BF16 by twos: the tables of two
// scales are made at once, as those of blocks are. It stands behind the loops of
// the kernel, and leaves single runs to them.
type bookTwo struct {
	high bool
	v    values
	most Register // what [numbersInBounds] says of the book
}

// littleTogether is the least scale, as bits, that is too large beside a little one:
// numbers are lifted, and rounded by numbers 2^16 times as large.
const littleTogether = (127 - 48) << 23

// write is the loop.
func (t *bookTwo) write(k *runs) {
	Label("two")
	CMPQ(k.n, Imm(2))
	JCS(LabelRef("single"))
	d, second := YMM(), YMM()
	VBROADCASTSS(Mem{Base: k.a}, d)
	VBROADCASTSS(Mem{Base: k.a, Disp: 4}, second)
	VPBLENDD(Imm(0xF0), second, d, d)
	for i := range 2 {
		r := t.magnitude(k, i)
		DECL(r)
		CMPL(r, t.most)
		JCS(LabelRef("littleTwo"))
	}
	turned(d)
	l := t.table(k, func(x VecVirtual) { k.multiplied(d, x) })
	Label("writeTwo")
	low, high := k.nibblesTwice(load(k.from(0)))
	if t.high {
		low, high = high, low
	}
	for i, unpack := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW} {
		codes := YMM()
		unpack(high, low, codes)
		k.lookupTwice(16*i, 32+16*i, codes, l)
	}
	ADDQ(Imm(8), k.a)
	ADDQ(Imm(8), k.b)
	ADDQ(Imm(32), k.src)
	ADDQ(Imm(64*2), k.dst)
	SUBQ(Imm(2), k.n)
	JNZ(LabelRef("two"))
	JMP(LabelRef("end"))
	t.little(k, d, l)
}

// table makes the tables of both scales; number makes numbers of values.
func (t *bookTwo) table(k *runs, number func(x VecVirtual)) looked {
	var parted [2]VecVirtual
	for i := range parted {
		even, odd := YMM(), YMM()
		VBROADCASTI128(t.v.a.Offset(16*i), even)
		VBROADCASTI128(t.v.b.Offset(16*i), odd)
		for _, x := range [2]VecVirtual{even, odd} {
			number(x)
			if k.lifted {
				rounded(x)
			} else {
				k.nearest(x)
			}
		}
		parted[i] = pack(even, odd)
		if k.lifted {
			VPAND(words(^uint16(liftedBit>>16)), parted[i], parted[i])
		}
	}
	return splitTwice(parted)
}

// little makes tables where a scale is little. The other one must not be large, or
// the runs are taken singly. Nothing is turned, as there is no NaN.
func (t *bookTwo) little(k *runs, d VecVirtual, l looked) {
	Label("littleTwo")
	for i := range 2 {
		CMPL(t.magnitude(k, i), U32(littleTogether))
		JCC(LabelRef("single"))
	}
	shift(d, liftedShift)
	slow := newLifted(d, YMM())
	VMULPS(floats(0.5), d, slow.half) // also of zero
	k.lifted = true
	carry(l, t.table(k, func(x VecVirtual) { slow.join(ops[0], pair{}, x) }))
	k.lifted = false
	JMP(LabelRef("writeTwo"))
}

// magnitude is the bits of scale i without its sign.
func (t *bookTwo) magnitude(k *runs, i int) Register {
	r := GP32()
	MOVL(Mem{Base: k.a, Disp: 4 * i}, r)
	and32(r, 0x7FFFFFFF)
	return r
}
