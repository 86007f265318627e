package main

import (
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zbook is nibbles that a codebook of sixteen numbers explains, two of
// a byte following each other. The order says which is the first: the places,
// in bits, where bytes of indices are cut out of eight bytes. What the codebook comes
// to is rounded once per run, into a table.
//
// The numbers of sixteen runs are looked at together. Where all are ordinary nothing
// comes to a subnormal number, to infinity or NaN, and rounding is quick; else tables
// are made in double precision.
type zbook struct {
	*zkernel
	join         zjoin
	elems        int
	unit         int // runs that are decoded together: two of sixteen numbers
	each         int // codes in a byte: two, or one that an order of dwords rotates to its place
	a, b         Register
	book, order  VecVirtual
	upper        OpmaskVirtual // qwords of the second eight bytes
	some         OpmaskVirtual // where the codebook is not zero
	code, parts  VecVirtual    // the bits of an index that are a code's, and what it has else
	least, span  [2]VecVirtual // of ordinary magnitudes: scales, and zero points or minima
	times, less  VecVirtual    // 65536 and 65535, that round
	last, one    VecVirtual    // 10000 and 1 in each dword
	uppers       VecVirtual    // in both halves of dwords the upper one,
	lower        OpmaskVirtual // and the bytes of lower ones
	twice        VecVirtual    // each byte of 32, two times
	doubles      [2]VecVirtual // the codebook
	exact        Register      // whether tables are made in double precision
	runs, chunks Register
}

// group is how many runs are looked at together.
const group = 16

func zbookKernels() {
	for _, t := range ztargets() {
		zbookKernel("halfBytesShift", joinShift, t, 32, true)
	}
	for _, j := range []zjoin{joinScale, joinShift, joinAffine} {
		for _, t := range ztargets() {
			for _, elems := range []int{16, 32, 64} {
				if elems > 16 || j == joinScale {
					zbookKernel("book"+string(j)+strconv.Itoa(elems), j, t, elems, false)
				}
			}
		}
	}
}

func zbookKernel(name string, j zjoin, target, elems int, bytes bool) {
	k := &zbook{join: j, elems: elems, unit: max(1, 32/elems), each: 2}
	if bytes {
		k.each = 1
	}
	k.zkernel = zbegin(name, target, ", a *float32, b *float32, book *float32, order *byte, chunks int, n int",
		"decodes n runs of chunks of that many nibbles.")
	k.before()
	n := Load(Param("n"), GP64())
	k.runs, k.chunks = GP64(), GP64()
	var t ztable
	for range k.unit {
		t = append(t, ZMM())
	}
	most := GP64()
	MOVQ(U32(group), most)

	Label("group")
	MOVQ(n, k.runs)
	CMPQ(k.runs, most)
	CMOVQGT(most, k.runs)
	SUBQ(k.runs, n)
	k.look()
	k.ones()

	Label("run")
	Load(Param("chunks"), k.chunks)
	TESTQ(k.exact, k.exact)
	JNZ(LabelRef("exact"))
	k.table(t, 0, k.plain)
	Label("chunk")
	in := max(elems, 32)
	for i := 0; i < in; i += 32 {
		k.lookup(i, k.indices(i/k.each), t)
	}
	k.advance(in/k.each, in)
	DECQ(k.chunks)
	JNZ(LabelRef("chunk"))
	k.pass(k.unit)
	SUBQ(Imm(uint64(k.unit)), k.runs)
	JNZ(LabelRef("run"))
	Label("next")
	TESTQ(n, n)
	JNZ(LabelRef("group"))
	end()

	Label("exact")
	k.table(t, 0, k.exactly)
	JMP(LabelRef("chunk"))
}

// ones is sixteen runs of a chunk each, some of them together; any other ones
// leave.
func (k *zbook) ones() {
	const together = 4
	Load(Param("chunks"), k.chunks)
	CMPQ(k.runs, Imm(group))
	JNE(LabelRef("run"))
	CMPQ(k.chunks, Imm(1))
	JNE(LabelRef("run"))
	Label("ones")
	for r := 0; r < together; r += k.unit {
		t := ztable{ZMM(), ZMM()}[:k.unit]
		k.table(t, r, k.plain)
		for at := r * k.elems; at < (r+k.unit)*k.elems; at += 32 {
			k.lookup(at, k.indices(at/k.each), t)
		}
	}
	k.advance(together*k.elems/k.each, together*k.elems)
	k.pass(together)
	SUBQ(Imm(together), k.runs)
	JNZ(LabelRef("ones"))
	JMP(LabelRef("next"))
}

// pass goes on by so many runs.
func (k *zbook) pass(runs int) {
	ADDQ(Imm(uint64(4*runs)), k.a)
	ADDQ(Imm(uint64(4*runs)), k.b)
}

func (k *zbook) before() {
	k.a, k.b = Load(Param("a"), GP64()), Load(Param("b"), GP64())
	k.book = zload(Mem{Base: Load(Param("book"), GP64())})
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

// classes sets the bounds of what is ordinary: no scale is, if the codebook has a number
// that is not.
func (k *zbook) classes() {
	ordinary := zrange{-20, 31}
	x, odd := ZMM(), K()
	k.some = K()
	VPANDD_BCST(dwords(0x7FFFFFFF), k.book, x)
	VPTESTMD(x, x, k.some)
	VPSUBD_BCST(ordinary.from(), x, x)
	VPCMPUD_BCST(Imm(5), ordinary.width(), x, k.some, odd)
	plain, none := GP32(), GP32()
	MOVL(U32(160<<23), plain)
	XORL(none, none)
	KORTESTW(odd, odd)
	CMOVLNE(none, plain)
	k.least[0], k.span[0] = zsingle(ordinaryScale.from()), ZMM()
	VPBROADCASTD(plain, k.span[0])
	if r, ok := ordinaryOther[k.join]; ok {
		k.least[1], k.span[1] = zsingle(r.from()), zsingle(r.width())
	}
	k.doubles = inDoubles(k.book)
	k.exact = GP64()
}

// from is the least magnitude, as bits, and width how many there are.
func (r zrange) from() Mem  { return dwords(uint32(127+r.least) << 23) }
func (r zrange) width() Mem { return dwords(uint32(r.most-r.least) << 23) }

// look says of so many runs whether they are ordinary; if not it leaves for "run". Zero
// is no ordinary scale, since rounding does not keep its sign, and minus zero no
// ordinary minimum.
func (k *zbook) look() {
	every, r := K(), GP32()
	MOVL(U32(0xFFFF), r)
	BZHIL(k.runs.(GPVirtual).As32(), r, r)
	KMOVW(r, every)
	y, odd := ZMM(), K()
	VMOVDQU32_Z(Mem{Base: k.a}, every, y)
	VPANDD_BCST(dwords(0x7FFFFFFF), y, y)
	VPSUBD(k.least[0], y, y)
	VPCMPUD(Imm(5), k.span[0], y, every, odd)
	if k.join != joinScale {
		s, y, some, also := ZMM(), ZMM(), K(), K()
		VMOVDQU32_Z(Mem{Base: k.b}, every, s)
		VPANDD_BCST(dwords(0x7FFFFFFF), s, y)
		if k.join == joinShift {
			VPTESTMD(y, y, some)
		} else {
			VPTESTMD(s, s, some)
		}
		VPSUBD(k.least[1], y, y)
		VPCMPUD(Imm(5), k.span[1], y, some, also)
		KORW(odd, also, odd)
	}
	XORL(k.exact.(GPVirtual).As32(), k.exact.(GPVirtual).As32())
	KORTESTW(odd, odd)
	SETNE(k.exact.(GPVirtual).As8())
	JNZ(LabelRef("run"))
}

// exactly is what any codebook comes to, as a table, of a step at a time.
func (k *zbook) exactly(x VecVirtual, run int) {
	s, z, p := ZMM(), ZMM(), [2]VecVirtual{ZMM(), ZMM()}
	VCVTPS2PD_BCST(Mem{Base: k.a, Disp: 4 * run}, s)
	if k.join != joinScale {
		VCVTPS2PD_BCST(Mem{Base: k.b, Disp: 4 * run}, z)
	}
	for i, p := range p {
		single := func() {
			VCVTPD2PS(p, p.AsY())
			VCVTPS2PD(p.AsY(), p)
		}
		switch k.join {
		case joinShift:
			VSUBPD(z, k.doubles[i], p)
			single()
			VMULPD(s, p, p)
		case joinAffine:
			VMULPD(s, k.doubles[i], p)
			single()
			VADDPD(z, p, p)
		default:
			VMULPD(s, k.doubles[i], p)
		}
	}
	inSingles(p, x)
	k.words(x)
}
