package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zlayout is one block type in registers of 64 bytes: as layout, with the
// sign that its numbers have before they are stored. Small blocks begin with
// one or two float16, which are made ready for eight blocks at once.
type zlayout struct {
	name   string
	params string // between the source and the count
	elems  int
	bytes  int
	sign   sign
	set    func(*zkernel)
	block  func(*zkernel)
	halves int
	far    bool // not of float16: products may be subnormal, or are never rounded
	small  func(*zkernel, zscales)
}

func zblockKernels() {
	for _, l := range zlayouts() {
		for _, t := range ztargets() {
			if !short || !l.far {
				zblockKernel(l, t)
			}
		}
	}
}

func zlayouts() []zlayout {
	return []zlayout{
		{name: "q8_0", elems: 32, bytes: 34, sign: minus, halves: 1, small: zq8(2)},
		{name: "q8_1", elems: 32, bytes: 36, sign: minus, halves: 1, small: zq8(4)},
		{name: "q8_K", elems: 256, bytes: 292, sign: minus, far: true, block: zq8K},
		{name: "booked", params: ", book *float32", elems: 32, bytes: 18, sign: minus, set: setBook, halves: 1, small: zbooked},
		{name: "q4_1", elems: 32, bytes: 20, sign: either, set: setCounted, halves: 2, small: zq4_1},
		{name: "q5_0", elems: 32, bytes: 22, sign: minus, set: setFifths, halves: 1, small: zq5_0},
		{name: "q5_1", elems: 32, bytes: 24, sign: either, set: setFifths, halves: 2, small: zq5_1},
		{name: "q2_K", elems: 256, bytes: 84, sign: either, set: setPair, block: zq2K},
		{name: "q3_K", elems: 256, bytes: 110, sign: minus, set: setQ3K, block: zq3K},
		{name: "q4_K", elems: 256, bytes: 144, sign: either, set: setCounted, block: zq4K},
		{name: "q5_K", elems: 256, bytes: 176, sign: either, set: setQ5K, block: zq5K},
		{name: "q6_K", elems: 256, bytes: 210, sign: minus, set: setQ6K, block: zq6K},
		{name: "iq4_XS", elems: 256, bytes: 136, sign: minus, set: setIQ4XS, block: ziq4XS},
		{name: "mxfp4", elems: 32, bytes: 17, sign: same, far: true, block: zmxfp4},
		{name: "nvfp4", elems: 64, bytes: 36, sign: same, far: true, block: znvfp4},
		{name: "tq1_0", elems: 256, bytes: 54, sign: minus, block: ztq1},
		{name: "tq2_0", elems: 256, bytes: 66, sign: minus, block: ztq2},
		{name: "q1_0", elems: 128, bytes: 18, sign: minus, block: zq1},
		{name: "q2_0", elems: 64, bytes: 18, sign: minus, block: zq2},
		{name: "iq1_S", elems: 256, bytes: 50, sign: minus, block: ziq1S},
		{name: "iq1_M", elems: 256, bytes: 56, sign: minus, block: ziq1M},
		{name: "iq2_XXS", elems: 256, bytes: 66, sign: minus, block: ziq2XXS},
		{name: "iq2_XS", elems: 256, bytes: 74, sign: minus, block: ziq2XS},
		{name: "iq2_S", elems: 256, bytes: 82, sign: minus, block: ziq2S},
		{name: "iq3_XXS", elems: 256, bytes: 98, sign: minus, block: ziq3XXS},
		{name: "iq3_S", elems: 256, bytes: 110, sign: minus, block: ziq3S},
	}
}

func zblockKernel(l zlayout, t int) {
	z := zbegin(l.name, t, l.params+", n int", "decodes n blocks.", l.sign)
	n := Load(Param("n"), GP64())
	if l.set != nil {
		l.set(z)
	}
	next := func() {
		ADDQ(U32(l.bytes), z.src)
		ADDQ(U32(l.elems*z.width()), z.dst)
	}
	if l.small != nil {
		Label("batch")
		CMPQ(n, Imm(8))
		JLT(LabelRef("block"))
		s := z.fronts(8, l)
		for i := range 8 {
			l.small(z, zscales{s.at.Offset(4 * i * l.halves)})
			next()
		}
		SUBQ(Imm(8), n)
		JMP(LabelRef("batch"))
		Label("block")
		TESTQ(n, n)
		JZ(LabelRef("done"))
		l.small(z, z.fronts(1, l))
		next()
		DECQ(n)
		JMP(LabelRef("block"))
		Label("done")
		zend()
		return
	}
	Label("block")
	l.block(z)
	next()
	DECQ(n)
	JNZ(LabelRef("block"))
	zend()
}

// fronts makes ready the float16 at the front of n blocks.
func (z *zkernel) fronts(n int, l zlayout) zscales {
	words, s := AllocLocal(32), zscales{AllocLocal(64)}
	for i := range n {
		r := GP32()
		if l.halves == 1 {
			MOVWLZX(z.from(l.bytes*i), r)
			MOVW(r.As16(), words.Offset(2*i))
		} else {
			MOVL(z.from(l.bytes*i), r)
			MOVL(r, words.Offset(4*i))
		}
	}
	x := ZMM()
	VCVTPH2PS(words, x)
	z.settled(x)
	VMOVUPS(x, s.at)
	return s
}

// zq8 is 32 signed bytes at off.
func zq8(off int) func(*zkernel, zscales) {
	return func(z *zkernel, s zscales) {
		a, b := zsigned(z.from(off)), zsigned(z.from(off+16))
		zfloats(a, b)
		z.put(0, s.by(a, 0), s.by(b, 0))
	}
}

func zq8K(z *zkernel) {
	d := zsingle(z.from(0))
	z.settled(d)
	for at := 0; at < 256; at += 32 {
		a, b := zsigned(z.from(4+at)), zsigned(z.from(20+at))
		zfloats(a, b)
		VMULPS(d, a, a)
		VMULPS(d, b, b)
		z.put(at, a, b)
	}
}

func setBook(z *zkernel) {
	book := Load(Param("book"), GP64())
	z.declare("values", func() VecVirtual { return zload(Mem{Base: book}) })
}

// zbooked is 32 nibbles, places in a book: Q4_0 and IQ4_NL.
func zbooked(z *zkernel, s zscales) {
	z.lookup(0, z.nibblesOf(2), z.table16(s.by(z.shared["values"], 0)))
}

func floats64(v [16]float32) Mem {
	return dwords64(func(i int) int { return int(math.Float32bits(v[i])) })
}

func zq4_1(z *zkernel, s zscales) {
	z.lookup(0, z.nibblesOf(4), z.table16(s.plus(z.shared["counted"])))
}

// plus is x times the first scale and the second added.
func (s zscales) plus(x VecVirtual) VecVirtual {
	y := s.by(x, 0)
	VADDPS_BCST(s.at.Offset(4), y, y)
	return y
}

func setFifths(z *zkernel) {
	first := 0
	if z.sign == minus {
		first = -16
	}
	z.declare("values", func() VecVirtual { return zcounted(first) })
	z.declare("more", func() VecVirtual { return zcounted(first + 16) })
}

// fifths is 32 codes: nibbles at off and their fifth bits in four bytes.
func (z *zkernel) fifths(bits, off int) zcodes {
	c, k := z.nibblesOf(off), K()
	KMOVD(z.from(bits), k)
	for i, x := range c {
		VPANDD_BCST(dwords(0x000F000F), x, x)
		if !z.float32() {
			VPADDW(words64(func(int) int { return 16 }), x, k, x)
			continue
		}
		if i == 1 {
			KSHIFTRD(Imm(16), k, k)
		}
		VPADDD_BCST(dwords(16), x, k, x)
	}
	return c
}

func zq5_0(z *zkernel, s zscales) {
	z.lookup(0, z.fifths(2, 6), z.table32(s.by(z.shared["values"], 0), s.by(z.shared["more"], 0)))
}

func zq5_1(z *zkernel, s zscales) {
	z.lookup(0, z.fifths(4, 8), z.table32(s.plus(z.shared["values"]), s.plus(z.shared["more"])))
}

// zlisted is where a table of 256 float32 has what it lists for the byte at off.
func (z *zkernel) zlisted(table string, off int) Mem {
	i, base := GP64(), GP64()
	MOVBQZX(z.from(off), i)
	LEAQ(variable(table), base)
	return Mem{Base: base, Index: i, Scale: 4}
}

// zfp4 is what the sixteen codes of E2M1 come to under a scale that is a number:
// of MXFP4 a power of two, of NVFP4 one of four bits, so that words hold all.
func (z *zkernel) zfp4(scale Mem) VecVirtual {
	x := zvalues(fp4Values)
	VMULPS_BCST(scale, x, x)
	return x
}

func zmxfp4(z *zkernel) {
	z.lookup(0, z.nibblesOf(1), z.cut16(z.zfp4(z.zlisted("mxfp4Scales", 0))))
}

func znvfp4(z *zkernel) {
	for s := 0; s < 4; s += 2 {
		a, b := z.zfp4(z.zlisted("nvfp4Scales", s)), z.zfp4(z.zlisted("nvfp4Scales", s+1))
		c := z.picked(quarters(z.from(4+8*s)), func(e int) int { return e/16*8 + e%8 }, func(e int) int { return e / 8 % 2 * 4 })
		if z.float32() {
			z.lookup(16*s, c[:1], z.table16(a))
			z.lookup(16*s+16, c[1:], z.table16(b))
			continue
		}
		VPANDD_BCST(dwords(0x000F000F), c[0], c[0])
		VPORD(words64(func(i int) int { return i / 16 * 16 }), c[0], c[0])
		z.lookup(16*s, c, z.cut32(a, b))
	}
}

// zfew is a table of few values, again and again, under the float16 at off.
func (z *zkernel) zfew(off int, v ...float32) ztable {
	d := zhalf(z.from(off))
	z.settled(d)
	var again [16]float32
	for i := range again {
		again[i] = v[i%len(v)]
	}
	VMULPS(floats64(again), d, d)
	return z.table16(d)
}

func zq1(z *zkernel) {
	t := z.zfew(0, -1, 1)
	for i := range 4 {
		k := K()
		KMOVD(z.from(2+4*i), k)
		x, y := ZMM(), ZMM()
		if !z.float32() {
			VPMOVM2W(k, x)
			z.lookup(32*i, zcodes{x}, t)
			continue
		}
		VPMOVM2D(k, x)
		KSHIFTRD(Imm(16), k, k)
		VPMOVM2D(k, y)
		z.lookup(32*i, zcodes{x, y}, t)
	}
}

func zq2(z *zkernel) {
	t := z.zfew(0, -1, 0, 1, 2)
	for i := range 2 {
		x := ZMM()
		VPBROADCASTQ(z.from(2+8*i), x)
		z.lookup(32*i, z.picked(x, func(e int) int { return e / 4 }, func(e int) int { return e % 4 * 2 }), t)
	}
}

func ztq2(z *zkernel) {
	t := z.zfew(64, -1, 0, 1, 2)
	for r := range 8 {
		z.lookup(32*r, z.moved(z.codes(z.from(r/4*32)), r%4*2), t)
	}
}

// trits is the base-3 digits of 32 codes: bytes are fractions of 3^5 in 256ths,
// and the n-th digit is how often 256 goes into three times 3^n times the byte.
func (z *zkernel) trits(c zcodes, n func(e int) int) (out zcodes) {
	power := func(e int) int { return [5]int{1, 3, 9, 27, 81}[n(e)] << 8 }
	for i, x := range c {
		y := ZMM()
		if z.float32() {
			VPMULLW(dwords64(func(j int) int { return power(16*i + j) }), x, y)
			VPMULHUW(dwords64(func(int) int { return 3 }), y, y)
		} else {
			VPMULLW(words64(power), x, y)
			VPMULHUW(words64(func(int) int { return 3 }), y, y)
		}
		out = append(out, y)
	}
	return out
}

func ztq1(z *zkernel) {
	t := z.zfew(52, -1, 0, 1, 2)
	c := z.codes(z.from(0))
	for n := range 5 {
		z.lookup(32*n, z.trits(c, func(int) int { return n }), t)
	}
	// Sixteen bytes of five digits, and four of four behind them.
	rest := ZMM()
	VBROADCASTI64X4(z.from(22), rest)
	none := func(int) int { return 0 }
	c = z.picked(rest, func(e int) int { return 10 + e%16 }, none)
	z.lookup(160, z.trits(c, func(e int) int { return e / 16 }), t)
	z.lookup(192, z.trits(c, func(e int) int { return 2 + e/16 }), t)
	c = z.picked(rest, func(e int) int {
		if e < 16 {
			return 10 + e
		}
		return 26 + e%4
	}, none)
	z.lookup(224, z.trits(c, func(e int) int {
		if e < 16 {
			return 4
		}
		return e / 4 % 4
	}), t)
}
