package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Immediates of VPTERNLOG, of what it is given last to first.
const (
	andOr  = 0xEA // a & b | c
	choose = 0xE2 // a where b is set, else c
)

// lanes is sixteen dwords made of bytes of src: of dword i the byte at(i) is
// put lowest, and what stands shift(i) above comes down. What is above that is
// anything.
func lanes(src VecVirtual, at, shift func(i int) int) VecVirtual {
	x := ZMM()
	VPERMB(src, zload(bytes64(func(i int) int { return at(i/4) + i%4 })), x)
	VPSRLVD(dwords64(shift), x, x)
	return x
}

// quarters is 16 bytes of memory four times.
func quarters(m Mem) VecVirtual {
	x := ZMM()
	VBROADCASTI32X4(m, x)
	return x
}

// ztimes is sixteen small integers in dwords, as floats, times d.
func ztimes(x, d VecVirtual) {
	VCVTDQ2PS(x, x)
	VMULPS(d, x, x)
}

// A zscales is memory for sixteen float32.
type zscales struct{ at Mem }

func zkeep(x VecVirtual) zscales {
	s := zscales{AllocLocal(64)}
	VMOVUPS(x, s.at)
	return s
}

// by is x times scale i.
func (s zscales) by(x VecVirtual, i int) VecVirtual {
	y := ZMM()
	VMULPS_BCST(s.at.Offset(4*i), x, y)
	return y
}

// A minima is scales and what is subtracted, eight of each or sixteen.
type minima struct{ d, m zscales }

// join is x times scale i less its minimum.
func (p minima) join(x VecVirtual, i int) VecVirtual {
	y := p.d.by(x, i)
	VSUBPS_BCST(p.m.at.Offset(4*i), y, y)
	return y
}

// sixBits unpacks d, dmin and the eight pairs of scale and minimum behind them
// from the first 16 bytes of a block.
func (z *zkernel) sixBits() minima {
	head := quarters(z.from(0))
	// Lanes 0-7 are the scales, 8-15 the minima. The first four have their upper
	// bits in place, the others on top of what the first have.
	own := lanes(head, func(i int) int {
		switch i {
		case 0, 1, 2, 3, 8, 9, 10, 11:
			return 4 + i%4 + i/8*4
		}
		return 12 + i%4
	}, func(i int) int { return i / 12 * 4 })
	top := lanes(head, func(i int) int { return 4 + i%4 + i/8*4 }, func(int) int { return 2 })
	VPANDD(dwords64(func(i int) int { return [2]int{63, 15}[i/4%2] }), own, own)
	VPTERNLOGD(Imm(andOr), own, dwordsOf(func(i int) int { return [2]int{0, 0x30}[i/4%2] }), top)
	whole, h := ZMM(), ZMM()
	VPERMB(head, zload(words64(func(i int) int { return i/8%2*0x202 + 0x100 })), h)
	VCVTPH2PS(h.AsY(), whole)
	ztimes(top, whole)
	zquieted(top)
	s := zkeep(top)
	return minima{s, zscales{s.at.Offset(32)}}
}

func dwordsOf(of func(i int) int) VecVirtual { return zload(dwords64(of)) }

// zcounted is the sixteen values from first on.
func zcounted(first int) VecVirtual {
	return dwordsOf(func(i int) int { return int(math.Float32bits(float32(first + i))) })
}

// zvalues is sixteen values.
func zvalues(v [16]float32) VecVirtual {
	return dwordsOf(func(i int) int { return int(math.Float32bits(v[i])) })
}

// two writes the low nibbles of 32 codes under one table of sixteen, and those
// of 32 others under another, rounding both tables at once. What is above the
// nibbles may be anything.
func (z *zkernel) two(at, next int, c, d zcodes, a, b VecVirtual) {
	if z.float32() {
		z.lookup(at, c, z.table16(a))
		z.lookup(next, d, z.table16(b))
		return
	}
	t, low, high := z.table32(a, b), ZMM(), ZMM()
	VPANDD(z.shared["low"], c[0], low)
	VMOVDQA64(d[0], high)
	VPTERNLOGD(Imm(andOr), z.shared["upper"], z.shared["low"], high)
	z.lookup(at, zcodes{low}, t)
	z.lookup(next, zcodes{high}, t)
}

func setTwo(z *zkernel) {
	if !z.float32() {
		z.declare("low", func() VecVirtual { return all(0x000F000F) })
		z.declare("upper", func() VecVirtual { return all(0x00100010) })
	}
}

func setCounted(z *zkernel) {
	setTwo(z)
	z.declare("counted", func() VecVirtual { return zcounted(0) })
}

func zq4K(z *zkernel) {
	p := z.sixBits()
	v := z.shared["counted"]
	for i := range 4 {
		c := z.codes(z.from(16 + 32*i))
		z.two(64*i, 64*i+32, c, z.above(c, 4), p.join(v, 2*i), p.join(v, 2*i+1))
	}
}

func setQ5K(z *zkernel) {
	z.declare("low", func() VecVirtual { return all(0x0F0F0F0F) })
	z.declare("counted", func() VecVirtual { return zcounted(0) })
	z.declare("more", func() VecVirtual { return zcounted(16) })
}

func zq5K(z *zkernel) {
	p, fifth := z.sixBits(), z.codes(z.from(16))
	for i := range 8 {
		c := z.codes(z.from(48 + i/2*32))
		if i%2 == 1 {
			c = z.above(c, 4)
		}
		for j, bit := range z.moved(fifth, i-4) {
			VPTERNLOGD(Imm(choose), bit, z.shared["low"], c[j])
		}
		z.lookup(32*i, c, z.table32(p.join(z.shared["counted"], i), p.join(z.shared["more"], i)))
	}
}

// moved is the codes moved down by n bits, or up.
func (z *zkernel) moved(c zcodes, n int) (out zcodes) {
	if n > 0 {
		return z.above(c, n)
	}
	if n == 0 {
		return c
	}
	for _, x := range c {
		y := ZMM()
		if z.float32() {
			VPSLLD(Imm(uint64(-n)), x, y)
		} else {
			VPSLLW(Imm(uint64(-n)), x, y)
		}
		out = append(out, y)
	}
	return out
}

// signed16 writes 64 signed bytes, which go by way of memory to dwords, times
// their scales: that of the i-th sixteen is scale of(i).
func (z *zkernel) signed16(at int, codes VecVirtual, way Mem, s zscales, of func(i int) int) {
	VMOVDQU64(codes, way)
	for i := 0; i < 4; i += 2 {
		a, b := zsigned(way.Offset(16*i)), zsigned(way.Offset(16*i+16))
		zfloats(a, b)
		z.put(at+16*i, s.by(a, of(i)), s.by(b, of(i+1)))
	}
}

func setQ6K(z *zkernel) {
	z.declare("low", func() VecVirtual { return all(0x0F0F0F0F) })
	z.declare("top", func() VecVirtual { return all(0x30303030) })
	z.declare("less", func() VecVirtual { return all(0x20202020) })
}

func zq6K(z *zkernel) {
	d, s := zhalf(z.from(208)), zsigned(z.from(192))
	ztimes(s, d)
	z.settled(s)
	kept := zkeep(s)
	for i := range 4 {
		codes, high, bits := ZMM(), ZMM(), ZMM()
		VMOVDQU64(z.from(i/2*64), codes)
		VBROADCASTI64X4(z.from(128+i/2*32), bits)
		if i%2 == 1 {
			VPSRLW(Imm(4), codes, codes)
			VPSRLVQ(qwords64(func(i int) int { return i / 4 * 2 }), bits, high)
		} else {
			VPSLLVQ(qwords64(func(i int) int { return 4 - i/4*2 }), bits, high)
		}
		VPANDD(z.shared["low"], codes, codes)
		VPTERNLOGD(Imm(andOr), codes, z.shared["top"], high)
		VPSUBB(z.shared["less"], high, high)
		z.signed16(64*i, high, AllocLocal(64), kept, func(j int) int { return 4*i + j })
	}
}

// qwords64 is eight qwords.
func qwords64(of func(i int) int) Mem {
	return bytes64(func(i int) int { return of(i/8) >> (i % 8 * 8) })
}

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
	zquieted(d)
	zquieted(m)
	if z.float32() {
		p := minima{zkeep(d), zkeep(m)}
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
	tail := quarters(z.from(94)) // the scales begin at its byte 2
	own := lanes(tail, func(i int) int { return 2 + i%8 }, func(i int) int { return i / 8 * 4 })
	top := ZMM()
	VPERMB(tail, zload(bytes64(func(i int) int { return 10 + i/4%4 })), top)
	VPSRLVD(dwords64(func(i int) int { return 4 + i/4*2 }), top, top) // four equal bytes
	VPANDD(all(15), own, own)
	VPTERNLOGD(Imm(andOr), own, all(0x30), top)
	VPSUBD(all(32), top, top)
	ztimes(top, zhalf(z.from(108)))
	z.settled(top)
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
		s := zkeep(d)
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

// picked is 32 codes made of bytes of src: code e is byte at(e), with what
// stands shift(e) above brought down. What is above that is anything.
func (z *zkernel) picked(src VecVirtual, at, shift func(e int) int) zcodes {
	if z.float32() {
		return zcodes{lanes(src, at, shift), lanes(src, func(i int) int { return at(16 + i) }, func(i int) int { return shift(16 + i) })}
	}
	x := ZMM()
	VPERMB(src, zload(bytes64(func(i int) int { return at(i/2) + i%2 })), x)
	VPSRLVW(words64(shift), x, x)
	return zcodes{x}
}

// nibblesOf is 32 codes of 16 bytes: the low nibbles, then the high ones.
func (z *zkernel) nibblesOf(off int) zcodes {
	return z.picked(quarters(z.from(off)), func(e int) int { return e % 16 }, func(e int) int { return e / 16 * 4 })
}

func setIQ4XS(z *zkernel) {
	setTwo(z)
	z.declare("values", func() VecVirtual { return zvalues(iq4Values) })
}

func ziq4XS(z *zkernel) {
	head := ZMM()
	VPBROADCASTQ(z.from(0), head)
	own := lanes(head, func(i int) int { return 4 + i/2%4 }, func(i int) int { return i % 2 * 4 })
	top := ZMM()
	VPERMB(head, zload(bytes64(func(i int) int { return [4]int{2, 2, 3, 3}[i%4] })), top)
	VPSRLVD(dwords64(func(i int) int { return [8]int{4, 6, 8, 10, 12, 14, 16, 18}[i%8] }), top, top)
	VPANDD(all(15), own, own)
	VPTERNLOGD(Imm(andOr), own, all(0x30), top)
	VPSUBD(all(32), top, top)
	ztimes(top, zhalf(z.from(0)))
	z.settled(top)
	kept, v := zkeep(top), z.shared["values"]
	for i := 0; i < 8; i += 2 {
		z.two(32*i, 32*i+32, z.nibblesOf(8+16*i), z.nibblesOf(24+16*i), kept.by(v, i), kept.by(v, i+1))
	}
}
