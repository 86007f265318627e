package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// zfewKernel is pairs of runs of one chunk of small floats to BF16, or runs of two,
// under any scale: what [zoddKernel] is for longer ones. Numbers are multiplied as a
// [zlesser] does it where the scale is small, 2^128 times what it is; where it is not,
// the sum is the product too. All have the other sign, so that infinity times zero, whose
// sign is set, is as other NaN.
//
// The table of a format is the bytes of its words that [zfloat8] has, lower and upper
// ones; then the dwords of [zodd].
func zfewKernel() {
	name := "float8FewAVX512"
	if short {
		name += "BF16"
	}
	function(name, "func(dst *byte, src *byte, a *float32, table *byte, chunks int, n int, least int) int", "decodes runs of one or two chunks of 32 codes, at most n, at least so many of any scale and then up to the first that the other kernel serves, and returns how many. Those of one chunk are an even number.")
	z := &zkernel{short: short, dst: Load(Param("dst"), GP64()), src: Load(Param("src"), GP64())}
	table := Mem{Base: Load(Param("table"), GP64())}
	o := &zodd{a: Load(Param("a"), GP64()), table: table.Offset(2*128 - 4*128)}
	o.zfound = newFound(o.single(7))
	lower, upper := zhalfPlaneAt(table), zhalfPlaneAt(table.Offset(128))
	f := &zfew{zkernel: z, zwoven: newWoven(), sign: all(0x80000000)}
	order := zload(dwords64(func(i int) int { return i%4*4 + i/4 }))
	if !short {
		order = zload(dwords64(func(i int) int { return i/4*2 + i/2%2*8 + i%2 }))
	}
	nanUpper := all(0xFFFFFFFF)
	left := Load(Param("n"), GP64())
	room := AllocLocal(64*zfewRows + 64)

	Label("group")
	o.unlessOrdinary(left)
	some, runs := o.sixteen(left)
	row := lined(room)
	o.prepareFew(some, row)
	ADDQ(Imm(64), o.a)
	// The second chunk has the next row, or the same.
	chunks, step := Load(Param("chunks"), GP64()), GP64()
	MOVQ(U32(2), step)
	SUBQ(chunks, step)
	next := Mem{Base: row.Base, Index: step, Scale: 4}

	Label("pair")
	codes := ZMM()
	VPERMD(z.from(0), order, codes)
	low, high := o.find(codes, lower, upper, nanUpper, orAnd, func(VecVirtual) {}, "found")
	a, b := ZMM(), ZMM()
	VPUNPCKLBW(high, low, a)
	VPUNPCKHBW(high, low, b)
	words := [2]VecVirtual{f.products(a, row), f.products(b, next)}
	for i, w := range words {
		VMOVDQU16(w, z.to(32*i))
	}
	z.advance(64, 64)
	LEAQ(Mem{Base: next.Base, Index: step, Scale: 4, Disp: 4}, row.Base)
	SUBQ(step, runs)
	DECQ(runs)
	JNZ(LabelRef("pair"))
	TESTQ(left, left)
	JNZ(LabelRef("group"))
	stopped(left)
}

// A zfew is what rounding the products takes.
type zfew struct {
	*zkernel
	zwoven
	sign VecVirtual
}

// products multiplies 32 words, whose scale has a row, and rounds.
func (f *zfew) products(x VecVirtual, row Mem) VecVirtual {
	low, high, less, w, k := ZMM(), ZMM(), ZMM(), ZMM(), K()
	VPBROADCASTD(row.Offset(192), less)
	if f.short {
		zero := ZMM()
		VPXORD(zero, zero, zero)
		VPUNPCKLWD(x, zero, low)
		VPUNPCKHWD(x, zero, high)
		w = shortened(f.product(low, row), f.product(high, row))
	} else {
		// Even words and odd ones.
		VPSLLD(Imm(16), x, low)
		VPANDD(f.odd, x, high)
		w = f.woven(f.product(low, row), f.product(high, row))
	}
	VPTESTNMW(words64(func(int) int { return 0x2000 }), w, k)
	VPSUBW(less, w, k, w)
	VPXORD(f.zwoven.tops, w, w)
	return w
}

func (f *zfew) product(x VecVirtual, row Mem) VecVirtual {
	sum, p := ZMM(), ZMM()
	VMOVAPS(x, sum)
	VPTERNLOGD_BCST(Imm(andXor), row.Offset(128), f.sign, sum)
	VFMADD231PS_BCST(row.Offset(64), x, sum)
	VMULPS_BCST(row, x, p)
	VPMAXUD(sum, p, p)
	return p
}

// zfewRows is how many rows of sixteen dwords runs need: their scales of the other sign;
// what the sum multiplies with, and adds; and what words are more.
const zfewRows = 4

// prepareFew fills rows for some of the sixteen scales at a.
func (o *zodd) prepareFew(some OpmaskVirtual, rows Mem) {
	store := func(i int, x VecVirtual) { VMOVDQU32(x, rows.Offset(64*i)) }
	size, sign, small, nan := o.sizes(some)
	half, unit, more := ZMM(), ZMM(), ZMM()
	VPANDND_BCST(dwords(0x80000000), sign, sign)
	VPORD(sign, size, size)
	VPBROADCASTD(dwords(0xFFC00000), nan, size)
	store(0, size)
	VMOVDQA32(size, half)
	VPSUBD_BCST(dwords(1<<23), half, small, half)
	store(1, half)
	VPBROADCASTD_Z(dwords(0x40000000), small, unit)
	VPORD(sign, unit, unit)
	store(2, unit)
	VPBROADCASTD_Z(dwords(0x40004000), small, more)
	store(3, more)
}

// A zwoven is what rounding to words takes whose registers take turns.
type zwoven struct{ tops, ones, odd VecVirtual }

func newWoven() zwoven {
	w := zwoven{tops: all(0x80008000)}
	if !short {
		w.ones, w.odd = all(0x00010001), all(0xFFFF0000)
	}
	return w
}

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
