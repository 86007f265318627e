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
	unit          int // runs that are decoded together: two of sixteen numbers
	each          int // codes in a byte: two, or one that an order of dwords rotates to its place
	a, b          Register
	book, order   VecVirtual
	upper         OpmaskVirtual // qwords of the second eight bytes
	some          OpmaskVirtual // where the book is not zero
	code, parts   VecVirtual    // the bits of an index that are a code's, and what it has else
	tests         [2]zrange     // which numbers are plain: scales, and second ones
	times, less   VecVirtual    // 65536 and 65535, that round
	last, one     VecVirtual    // 10000 and 1 in each dword
	uppers        VecVirtual    // in both halves of dwords the upper one,
	lower         OpmaskVirtual // and the bytes of lower ones
	twice         VecVirtual    // each byte of 32, two times
	hostile, mode Register      // what products runs that are not plain take, and what these do
	half          VecVirtual    // of the book's magnitudes
	doubles       [2]VecVirtual // the book
	zeros         OpmaskVirtual // where that is zero, if the group looks
	zeroBits      Register      // where it is
	sizes, sign   VecVirtual    // the bits of magnitudes, and of signs
	two           VecVirtual    // the bit that numbers from 2 on have
	quiet, fixup  VecVirtual    // a NaN, and what puts it in place of all others
	numbers       [2]VecVirtual // the scales of sixteen runs, and second numbers
	held          zheld
}

// The products of runs.
const (
	plainRuns  = iota
	smallRuns  // of a book whose numbers are ordinary
	exactRuns  // of any other one
	directRuns // of which no step is subnormal after all
)

// group is how many runs are looked at together.
const group = 16

func zbookKernels() {
	for _, t := range ztargets() {
		zbookKernel("halfBytesShift", op{"Shift", true}, t, 32, true)
	}
	for _, o := range ops {
		for _, t := range ztargets() {
			for _, elems := range []int{16, 32, 64} {
				if elems > 16 || o.name == "Scale" {
					zbookKernel("book"+o.name+strconv.Itoa(elems), o, t, elems, false)
				}
			}
		}
	}
}

func zbookKernel(name string, o op, target, elems int, bytes bool) {
	k := &zbook{op: o, elems: elems, unit: max(1, 32/elems), each: 2}
	if bytes {
		k.each = 1
	}
	k.zkernel = zbegin(name, target, ", a *float32, b *float32, book *float32, order *byte, chunks int, n int",
		"decodes n runs of chunks of that many nibbles.", same)
	k.align()
	k.before()
	n, runs, chunks := Load(Param("n"), GP64()), GP64(), GP64()
	var t ztable
	for range k.unit {
		t = append(t, ZMM())
	}
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
	k.table(t, 0, k.plain)
	Label("chunk")
	in := max(elems, 32)
	for i := 0; i < in; i += 32 {
		k.lookup(i, k.indices(i/k.each), t)
	}
	k.advance(in/k.each, in)
	DECQ(chunks)
	JNZ(LabelRef("chunk"))
	k.pass(k.unit)
	SUBQ(Imm(uint64(k.unit)), runs)
	JNZ(LabelRef("run"))
	Label("next")
	TESTQ(n, n)
	JNZ(LabelRef("group"))
	end()

	Label("prepare")
	k.hold()
	CMPQ(k.mode, Imm(exactRuns))
	JE(LabelRef("settle"))
	if k.directs() {
		k.direct(func() { k.ones("directs", runs, chunks, k.directly) })
		Label("small")
	}
	k.prepare()
	k.ones("smalls", runs, chunks, k.small)
	Label("settle")
	k.settle()
	JMP(LabelRef("run"))
	Label("hostile")
	CMPQ(k.mode, Imm(exactRuns))
	JE(LabelRef("exact"))
	if k.directs() {
		JA(LabelRef("direct"))
	}
	k.table(t, 0, k.small)
	JMP(LabelRef("chunk"))
	if k.directs() {
		Label("direct")
		k.table(t, 0, k.directly)
		JMP(LabelRef("chunk"))
	}
	Label("exact")
	k.table(t, 0, k.exact)
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
	for r := 0; r < together; r += k.unit {
		t := ztable{ZMM(), ZMM()}[:k.unit]
		k.table(t, r, product)
		for at := r * k.elems; at < (r+k.unit)*k.elems; at += 32 {
			k.lookup(at, k.indices(at/k.each), t)
		}
	}
	k.advance(together*k.elems/k.each, together*k.elems)
	k.pass(together)
	SUBQ(Imm(together), runs)
	JNZ(LabelRef(name))
	JMP(LabelRef("next"))
}

// pass goes on by so many runs.
func (k *zbook) pass(runs int) {
	for _, r := range []Register{k.a, k.b, k.held.at} {
		ADDQ(Imm(uint64(4*runs)), r)
	}
}

func (k *zbook) before() {
	k.a, k.b = Load(Param("a"), GP64()), Load(Param("b"), GP64())
	k.book = zload(Mem{Base: Load(Param("book"), GP64())})
	zcanonical(k.book)
	k.order = zload(Mem{Base: Load(Param("order"), GP64())})
	k.upper = mask(0xF0)
	if k.each == 1 && !k.float32() {
		k.twice = zload(bytes64(func(i int) int { return i / 2 }))
	}
	second := func(parts int) VecVirtual { // what the index of a second run has
		return zload(words64(func(i int) int {
			if k.unit == 2 && i >= 16 {
				return parts >> 16
			}
			return parts & 0xFFFF
		}))
	}
	switch {
	case k.narrow:
		k.code, k.parts = all(0x1E1E1E1E), second(0x21200100)
	case !k.wide:
		k.code, k.parts = all(0x3C3C3C3C), second(0x01000302)
		k.times, k.less, k.last, k.one = zsingle(floats(65536)), zsingle(floats(65535)), all(0x10000), all(1)
		k.uppers, k.lower = zload(bytes64(func(i int) int { return i | 2 })), mask(0x3333333333333333)
	}
	k.classes()
}
