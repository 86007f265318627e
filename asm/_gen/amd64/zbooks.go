package main

import (
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zbook is nibbles that a code book of sixteen numbers explains, two of
// a byte following each other. The order says which is the first: the places,
// in bits, where bytes of indices are cut out of eight bytes. What the book comes
// to is rounded once per run; where all numbers are plain none of it is NaN.
type zbook struct {
	op
	elems       int
	book, order VecVirtual
	upper       OpmaskVirtual
	table       ztable
	most, plain Op
}

func zbookKernels() {
	all := ops
	if short {
		all = ops[:1]
	}
	for _, o := range all {
		for _, t := range ztargets() {
			for _, elems := range []int{32, 64} {
				k := &zbook{op: o, elems: elems}
				zrunsKernel("book"+o.name+strconv.Itoa(elems), t, ", book *float32, order *byte", "decodes n runs of chunks of that many nibbles.",
					signOf(o), zloop{in: elems / 2, elems: elems, before: k.before, run: k.run, other: k.other, chunk: k.chunk})
			}
		}
	}
}

func (k *zbook) before(z *zruns) {
	k.book = zload(Mem{Base: Load(Param("book"), GP64())})
	zcanonical(k.book)
	k.order = zload(Mem{Base: Load(Param("order"), GP64())})
	k.upper = mask(0xF0)
	k.most = U32(littleMost - 1)
	if short {
		k.most = fitting(k.book)
	}
	k.plain = plainOf(k.book)
}

// plainOf is the bits that are all set in numbers of 2^127 and more, the other
// ones of which no difference is infinite; or none, where a book has such a number.
func plainOf(book VecVirtual) Op {
	x, large, bits, none := ZMM(), K(), GP32(), GP32()
	VPANDD_BCST(dwords(0x7FFFFFFF), book, x)
	VPCMPUD_BCST(Imm(5), dwords(0x7F000000), x, large)
	MOVL(U32(0x7F000000), bits)
	XORL(none, none)
	KORTESTW(large, large)
	CMOVLNE(none, bits)
	return bits
}

func (k *zbook) run(z *zruns) {
	low := "small"
	if short {
		low = "low"
	}
	ifBelow(Mem{Base: z.a}, k.most, low)
	z.ifSpecial(k.op, k.plain, "odd")
	z.finite(func() { k.table = k.joined(z, pair{zsingle(Mem{Base: z.a}), k.second(z)}, k.join) })
}

// second is the second number of a run that is plain.
func (k *zbook) second(z *zruns) (x VecVirtual) {
	if k.name != "Scale" {
		x = zsingle(Mem{Base: z.b})
	}
	return x
}

// joined is what the book comes to.
func (k *zbook) joined(z *zruns, p pair, join func(p pair, x VecVirtual)) ztable {
	x := ZMM()
	VMOVAPS(k.book, x)
	join(p, x)
	return z.table16(x)
}

// other is the runs of scales that are small, or infinite or NaN.
func (k *zbook) other(z *zruns) {
	again := func(join func(p pair, x VecVirtual)) {
		VMOVDQA64(k.joined(z, z.numbersOf(k.op), join)[0], k.table[0])
		JMP(LabelRef("chunk"))
	}
	if short { // where the book has numbers that are small
		Label("low")
		z.ifSmall(U32(littleMost - 1))
	}
	Label("odd")
	z.inSteps()
	again(k.join)
	Label("small")
	z.inSteps()
	again(func(p pair, x VecVirtual) { newZsmall(p.d).join(k.op, p, x) })
}

func (k *zbook) chunk(z *zruns) {
	for i := 0; i < k.elems; i += 32 {
		z.lookup(i, z.nibbles(z.from(i/2), k.order, k.upper), k.table)
	}
}

// nibbles is 32 indices from sixteen bytes: to F32 a dword, else a word each,
// of which the lower four bits count. The upper four qwords of a register are
// cut out of the second eight bytes.
func (z *zkernel) nibbles(m Mem, order VecVirtual, upper OpmaskVirtual) zcodes {
	if z.float32() {
		a, b := ZMM(), ZMM()
		VPMULTISHIFTQB_BCST(m, order, a)
		VPMULTISHIFTQB_BCST(m.Offset(8), order, b)
		return zcodes{a, b}
	}
	x := ZMM()
	VPBROADCASTQ(m, x)
	VPBROADCASTQ(m.Offset(8), upper, x)
	VPMULTISHIFTQB(x, order, x)
	return zcodes{x}
}
