package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

const (
	andOrNot = 0xD0 // a & (b | ^c)
	orAndNot = 0xF4 // a | b & ^c
)

// zfloat8LongKernel is long runs of small floats to BF16. Each run gets a table of what
// all codes without a sign come to, by as many products, which have the sign; NaN has
// none. Codes then keep it or clear it. Where products are not all normal they are made
// in double precision.
//
// The table of a format is those 128 numbers in the order in which words come
// together, then the least scale, the range of scales, and a code of NaN.
func zfloat8LongKernel() {
	function("float8LongAVX512", "func(dst *byte, src *byte, a *float32, table *byte, chunks int, n int)", "decodes n runs of chunks of 32 codes.")
	clear(owned)
	z := &zkernel{dst: Load(Param("dst"), GP64()), src: Load(Param("src"), GP64())}
	a, table := Load(Param("a"), GP64()), Mem{Base: Load(Param("table"), GP64())}
	const singles = 4 * 128
	l := &zlong{table: table, weave: newWoven(), lower: all(0x00FF00FF)}
	for half := range 2 {
		l.low[half], l.upper[half] = ZMM(), ZMM()
	}
	found := newFound(table.Offset(singles + 8))
	order := zload(bytes64(func(i int) int { return int(uint64(i/8%2*4+i/16) >> (i % 8 * 8)) }))
	nanUpper := all(0x7F7F7F7F)
	left := Load(Param("n"), GP64())

	Label("run")
	// The scale: within the range; with the sign; and its sign, for codes.
	bits, exponent, sign := GP32(), GP32(), GP32()
	MOVL(Mem{Base: a}, bits)
	MOVL(bits, exponent)
	ANDL(U32(0x7F800000), exponent)
	SUBL(table.Offset(singles), exponent)
	times, turn := ZMM(), ZMM()
	MOVL(bits, sign)
	SARL(Imm(31), sign)
	ANDL(U32(0x80808080), sign)
	VPBROADCASTD(sign, turn)
	ORL(U32(0x80000000), bits)
	VPBROADCASTD(bits, times)
	CMPL(exponent, table.Offset(singles+4))
	JHI(LabelRef("exact"))
	l.planes(func(m Mem, x VecVirtual) { VMULPS(m, times, x) })

	Label("codes")
	chunks := Load(Param("chunks"), GP64())
	write := func(n int) func() {
		return func() {
			codes := ordered(n, z.from(0), order, VPERMQ)
			p, q := found.find(codes, l.low, l.upper, nanUpper, andOrNot, own("found"), turn)
			for i, unpack := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW}[:n/32] {
				x := ZMM()
				unpack(q, p, x)
				VMOVDQU64(x, z.to(32*i))
			}
		}
	}
	zpairs(z, "", chunks, 32, 32, write(64), write(32))
	ADDQ(Imm(4), a)
	DECQ(left)
	JNZ(LabelRef("run"))
	end()

	Label("exact")
	factor := ZMM()
	VCVTPS2PD(times.AsY(), factor)
	l.planes(func(m Mem, x VecVirtual) {
		d := doublesAt(m)
		for _, d := range d {
			VMULPD(factor, d, d)
		}
		inSingles(d, x)
	})
	JMP(LabelRef("codes"))
}

// A zlong is the table of a run: lower bytes and upper ones of 128 words.
type zlong struct {
	table      Mem
	weave      zwoven
	lower      VecVirtual
	upper, low zhalfPlane
}

func (l *zlong) planes(product func(m Mem, x VecVirtual)) {
	for half := range 2 {
		w := [2]VecVirtual{}
		for i := range w { // of even codes, and of odd ones
			x := [2]VecVirtual{ZMM(), ZMM()}
			for j, x := range x {
				product(l.table.Offset(256*half+128*i+64*j), x)
			}
			w[i] = l.weave.woven(x[0], x[1])
		}
		VPSLLW(Imm(8), w[1], l.low[half])
		VPSRLW(Imm(8), w[0], l.upper[half])
		VPTERNLOGD(Imm(orAnd), l.lower, w[0], l.low[half])
		VPTERNLOGD(Imm(orAndNot), l.lower, w[1], l.upper[half])
	}
}

// A zwoven is what rounding to words takes whose registers take turns.
type zwoven struct{ tops, ones, odd VecVirtual }

func newWoven() zwoven { return zwoven{all(0x80008000), all(0x00010001), all(0xFFFF0000)} }

// woven rounds as [zkernel.nearest] does: a becomes the even words, b the odd ones.
func (c *zwoven) woven(a, b VecVirtual) VecVirtual {
	w, rest, up := ZMM(), ZMM(), K()
	VPSRLD(Imm(16), a, w)
	VPSLLD(Imm(16), b, rest)
	VPTERNLOGD(Imm(orAnd), c.odd, b, w)
	VPTERNLOGD(Imm(orAndNot), c.odd, a, rest)
	VPTERNLOGD(Imm(orAnd), c.ones, w, rest)
	VPCMPUW(Imm(6), c.tops, rest, up)
	VPADDW(c.ones, w, up, w)
	return w
}
