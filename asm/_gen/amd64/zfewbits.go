package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Q2_K and Q3_K: codes of two bits and three under sixteen scales.

// columns is sixteen scales under each of a number of values, two values a
// register: word 16*v + i is value v under scale i.
func (z *zkernel) columns(values int, number func(v int) VecVirtual) (out ztable) {
	for v := 0; v < values; v += 2 {
		out = append(out, z.table32(number(v), number(v+1))[0])
	}
	return out
}

// twoBits is run r of 32 two-bit codes, the layout of the K types, times 16 and
// with the numbers of their two scales below, to words.
func (z *zkernel) twoBits(off, r int) VecVirtual {
	x := z.moved(z.codes(z.from(off+r/4*32)), r%4*2-4)[0]
	VPTERNLOGD(Imm(andOr), zload(words64(func(i int) int { return 2*r + i/16 })), z.shared["pair"], x)
	return x
}

// setPair keeps the mask of two bits, in words above the scales' numbers.
func setPair(z *zkernel) {
	z.declare("pair", func() VecVirtual {
		if z.float32() {
			return all(3)
		}
		return all(0x00300030)
	})
}

// plainPairs is run r of 32 two-bit codes, to dwords.
func (z *zkernel) plainPairs(off, r int) zcodes {
	c := z.moved(z.codes(z.from(off+r/4*32)), r%4*2)
	for _, x := range c {
		VPANDD(z.shared["pair"], x, x)
	}
	return c
}

func zq2K(z *zkernel) {
	d, m := zunsigned(z.from(0)), ZMM()
	VPSRLD(Imm(4), d, m)
	VPANDD(all(15), d, d)
	ztimes(d, zhalf(z.from(80)))
	ztimes(m, zhalf(z.from(82)))
	if z.float32() {
		p := minima{zkeep(z, d), zkeep(z, m)}
		for r := range 8 {
			c := z.plainPairs(16, r)
			zfloats(c...)
			z.put(32*r, p.join(c[0], 2*r), p.join(c[1], 2*r+1))
		}
		return
	}
	t := z.columns(4, func(v int) VecVirtual {
		x := ZMM()
		VMULPS_BCST(floats(float32(v)), d, x)
		VSUBPS(m, x, x)
		return x
	})
	for r := range 8 {
		x := z.twoBits(16, r)
		VPERMI2W(t[1], t[0], x)
		VMOVDQU64(x, z.to(32*r))
	}
}

// q3Scales is sixteen 6-bit scales, less 32, times d.
func (z *zkernel) q3Scales() VecVirtual {
	tail := sixteen(z.from(94)) // the scales begin at its byte 2
	own := lanes(tail, func(i int) int { return 2 + i%8 }, func(i int) int { return i / 8 * 4 })
	top := ZMM()
	VPERMB(tail, zload(bytes64(func(i int) int { return 10 + i/4%4 })), top)
	VPSRLVD(dwords64(func(i int) int { return 4 + i/4*2 }), top, top) // four equal bytes
	VPANDD(all(15), own, own)
	VPTERNLOGD(Imm(andOr), own, all(0x30), top)
	VPSUBD(all(32), top, top)
	ztimes(top, zhalf(z.from(108)))
	return top
}

func setQ3K(z *zkernel) {
	if z.float32() {
		z.declare("pair", func() VecVirtual { return all(3) })
		return
	}
	z.declare("pair", func() VecVirtual { return all(0x00030003) })
	z.declare("values", func() VecVirtual { return zvalues([16]float32{-4, -3, -2, -1, 0, 1, 2, 3, -4, -3, -2, -1, 0, 1, 2, 3}) })
}

func zq3K(z *zkernel) {
	d := z.q3Scales()
	if z.float32() {
		s := zkeep(z, d)
		for r := range 8 {
			c, set := z.plainPairs(32, r), K()
			z.bit(set, r)
			for i, x := range c {
				if i == 1 {
					KSHIFTRD(Imm(16), set, set)
				}
				clear := K()
				KNOTW(set, clear)
				VPSUBD_BCST(dwords(4), x, clear, x)
			}
			zfloats(c...)
			z.put(32*r, s.by(c[0], 2*r), s.by(c[1], 2*r+1))
		}
		return
	}
	var t ztable
	for r := range 8 {
		if r%2 == 0 {
			t = z.eights(d, 2*r)
		}
		x, set := z.moved(z.codes(z.from(32+r/4*32)), r%4*2)[0], K()
		VPTERNLOGD(Imm(andOr), zload(words64(func(i int) int { return r%2*16 + i/16*8 })), z.shared["pair"], x)
		z.bit(set, r)
		VPADDW(words64(func(int) int { return 4 }), x, set, x)
		z.lookup(32*r, zcodes{x}, t)
	}
}

// eights is the eight values, -4 to 3, under each of four scales from first on.
func (z *zkernel) eights(d VecVirtual, first int) ztable {
	number := func(first int) VecVirtual {
		x := ZMM()
		VPERMD(d, dwordsOf(func(i int) int { return first + i/8 }), x)
		VMULPS(z.shared["values"], x, x)
		return x
	}
	return z.table32(number(first), number(first+2))
}

// bit is which of the 32 bytes at the front have bit r set.
func (z *zkernel) bit(k OpmaskVirtual, r int) {
	y := YMM()
	VMOVDQU64(z.from(0), y)
	VPTESTMB(bytes32(1<<r), y, k)
}
