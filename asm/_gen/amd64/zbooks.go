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
// to is rounded once per run.
//
// The numbers of sixteen runs are looked at together. Where all are plain nothing
// comes to a subnormal number, to infinity or NaN, and rounding is quick; else they
// are brought into a form with which nothing is slow either ([zbook.prepare]).
type zbook struct {
	*zkernel
	op
	elems         int
	a, b          Register
	book, order   VecVirtual
	upper         OpmaskVirtual // qwords of the second eight bytes
	some          OpmaskVirtual // where the book is not zero
	code, parts   VecVirtual    // the bits of an index that are a code's, and what it has else
	tests         [2]zrange     // which numbers are plain: scales, and second ones
	times         VecVirtual    // 65536, that rounds
	hostile, mode Register      // what products runs that are not plain take, and what these do
	ordinary      Register      // all bits of a mask where the book is, else none
	half          VecVirtual    // of the book's magnitudes
	doubles       [2]VecVirtual // the book
	numbers       [2]VecVirtual // the scales of sixteen runs, and second numbers
	held          zheld
}

// The products of runs.
const (
	plainRuns = iota
	smallRuns // of a book whose numbers are ordinary
	exactRuns // of any other one
)

// group is how many runs are looked at together.
const group = 16

func zbookKernels() {
	if short {
		return
	}
	for _, o := range ops {
		for _, t := range ztargets() {
			for _, elems := range []int{32, 64} {
				zbookKernel(o, t, elems)
			}
		}
	}
}

func zbookKernel(o op, t, elems int) {
	k := &zbook{op: o, elems: elems}
	k.zkernel = zbegin("book"+o.name+strconv.Itoa(elems), t, ", a *float32, b *float32, book *float32, order *byte, chunks int, n int",
		"decodes n runs of chunks of that many nibbles.", same)
	k.align()
	k.before()
	n, runs, chunks, x := Load(Param("n"), GP64()), GP64(), GP64(), ZMM()
	most := GP64()
	MOVQ(U32(group), most)

	Label("group")
	MOVQ(n, runs)
	CMPQ(runs, most)
	CMOVQGT(most, runs)
	SUBQ(runs, n)
	k.look(runs)

	k.ones("ones", runs, chunks, k.plain)

	Label("run")
	Load(Param("chunks"), chunks)
	TESTQ(k.mode, k.mode)
	JNZ(LabelRef("hostile"))
	k.plain(x, 0)
	Label("chunk")
	for i := 0; i < elems; i += 32 {
		k.lookup(i, k.indices(i/2), ztable{x})
	}
	k.advance(elems/2, elems)
	DECQ(chunks)
	JNZ(LabelRef("chunk"))
	k.pass(1)
	DECQ(runs)
	JNZ(LabelRef("run"))
	Label("next")
	TESTQ(n, n)
	JNZ(LabelRef("group"))
	end()

	Label("prepare")
	k.prepare()
	if k.name == "Scale" {
		CMPQ(k.mode, Imm(exactRuns))
		JE(LabelRef("run"))
		k.ones("smalls", runs, chunks, k.small)
	} else {
		k.ones("exacts", runs, chunks, k.exact)
	}
	Label("hostile")
	if k.name == "Scale" {
		CMPQ(k.mode, Imm(exactRuns))
		JE(LabelRef("exact"))
		k.small(x, 0)
		JMP(LabelRef("chunk"))
		Label("exact")
	}
	k.exact(x, 0)
	JMP(LabelRef("chunk"))
}

// ones is sixteen runs of a chunk each, some of them together; any other ones
// leave.
func (k *zbook) ones(name string, runs, chunks Register, product func(x VecVirtual, run int)) {
	const together = 4
	Load(Param("chunks"), chunks)
	CMPQ(runs, Imm(group))
	JNE(LabelRef("run"))
	CMPQ(chunks, Imm(1))
	JNE(LabelRef("run"))
	Label(name)
	for r := range together {
		x := ZMM()
		product(x, r)
		for i := 0; i < k.elems; i += 32 {
			at := r*k.elems + i
			k.lookup(at, k.indices(at/2), ztable{x})
		}
	}
	k.advance(together*k.elems/2, together*k.elems)
	k.pass(together)
	SUBQ(Imm(together), runs)
	JNZ(LabelRef(name))
	JMP(LabelRef("next"))
}

// pass goes on by so many runs.
func (k *zbook) pass(runs uint64) {
	for _, r := range []Register{k.a, k.b, k.held.at} {
		ADDQ(Imm(4*runs), r)
	}
}

func (k *zbook) before() {
	k.a, k.b = Load(Param("a"), GP64()), Load(Param("b"), GP64())
	k.book = zload(Mem{Base: Load(Param("book"), GP64())})
	zcanonical(k.book)
	k.order = zload(Mem{Base: Load(Param("order"), GP64())})
	k.upper = mask(0xF0)
	switch {
	case k.narrow:
		k.code, k.parts = all(0x1E1E1E1E), all(0x01000100)
	case !k.wide:
		k.code, k.parts, k.times = all(0x3C3C3C3C), all(0x03020302), all(0x47800000)
	}
	k.classes()
}

// indices are 32 indices from sixteen bytes: dwords, or bytes, two for each
// word. The upper four qwords of a register are cut out of the second eight bytes.
func (k *zbook) indices(off int) zcodes {
	if k.float32() {
		a, b := ZMM(), ZMM()
		VPMULTISHIFTQB_BCST(k.from(off), k.order, a)
		VPMULTISHIFTQB_BCST(k.from(off+8), k.order, b)
		return zcodes{a, b}
	}
	x := ZMM()
	VPBROADCASTQ(k.from(off), x)
	VPBROADCASTQ(k.from(off+8), k.upper, x)
	VPMULTISHIFTQB(x, k.order, x)
	VPTERNLOGD(Imm(andOr), k.parts, k.code, x)
	return zcodes{x}
}

// lookup writes what the table has for 32 indices.
func (k *zbook) lookup(at int, c zcodes, t ztable) {
	if k.float32() {
		k.zkernel.lookup(at, c, t)
		return
	}
	k.placed(at, c[0], t)
}

// plain is what the book comes to in runs of plain numbers, as a table: to BF16
// the upper halves of dwords.
func (k *zbook) plain(x VecVirtual, run int) {
	from := k.book
	if k.name == "Shift" {
		VSUBPS_BCST(Mem{Base: k.b, Disp: 4 * run}, k.book, x)
		from = x
	}
	VMULPS_BCST(Mem{Base: k.a, Disp: 4 * run}, from, x)
	if k.name == "Affine" {
		VADDPS_BCST(Mem{Base: k.b, Disp: 4 * run}, x, x)
	}
	switch {
	case k.narrow:
		VCVTPS2PH(Imm(0), x, x.AsY())
	case k.wide:
	case k.name == "Shift": // any of them may be zero
		odd := K()
		VPTESTMD_BCST(dwords(0x10000), x, odd)
		VPADDD_BCST(dwords(roundPlain), x, x)
		VPADDD_BCST(dwords(1), x, odd, x)
	default: // as in ordinary.go; zeros keep their sign
		less := ZMM()
		VMULPS_BCST(floats(65535), x, less)
		if k.name == "Scale" {
			VFMSUB132PS(k.times, less, k.some, x)
		} else {
			VFMSUB132PS(k.times, less, x)
		}
	}
}
