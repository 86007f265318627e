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
	orAnd  = 0xF8 // a | b & c
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

// sixteen is 16 bytes of memory, and zeros.
func sixteen(m Mem) VecVirtual {
	x := ZMM()
	VMOVDQU32(m, x.AsX())
	return x
}

// ztimes is sixteen small integers in dwords, as floats, times d.
func ztimes(x, d VecVirtual) {
	VCVTDQ2PS(x, x)
	VMULPS(d, x, x)
}

// A zscales is memory for sixteen float32.
type zscales struct{ at Mem }

func zkeep(z *zkernel, x VecVirtual) zscales {
	s := zscales{z.room(64)}
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

// join is x times scale i less its minimum. A float16 times six bits and five is
// exact, so that it is rounded once anyway.
func (p minima) join(x VecVirtual, i int) VecVirtual {
	y := ZMM()
	VPBROADCASTD(p.m.at.Offset(4*i), y)
	VFMSUB231PS_BCST(p.d.at.Offset(4*i), x, y)
	return y
}

// sixBits unpacks d, dmin and the eight pairs of scale and minimum behind them
// from the first 16 bytes of a block.
func (z *zkernel) sixBits() minima {
	head := sixteen(z.from(0))
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
	s := zkeep(z, top)
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

func setCounted(z *zkernel) {
	setIndex(z)
	z.declare("counted", func() VecVirtual { return zcounted(0) })
}

func zq4K(z *zkernel) {
	p := z.sixBits()
	v := z.shared["counted"]
	for i := range 4 {
		low, high := z.nibblePair(16 + 32*i)
		z.couple(64*i, 64*i+32, low, high, p.join(v, 2*i), p.join(v, 2*i+1))
	}
}

func setQ5K(z *zkernel) {
	setIndex(z)
	z.declare("counted", func() VecVirtual { return zcounted(0) })
	z.declare("more", func() VecVirtual { return zcounted(16) })
	if z.float32() {
		z.declare("low", func() VecVirtual { return all(0x0F0F0F0F) })
	} else {
		z.declare("fifth", func() VecVirtual { return all(0x20202020) })
	}
}

func zq5K(z *zkernel) {
	p := z.sixBits()
	var fifth zcodes
	if z.float32() {
		fifth = z.codes(z.from(16))
	} else {
		fifth = zcodes{twins(z.from(16))}
	}
	for i := 0; i < 8; i += 2 {
		low, high := z.nibblePair(48 + 16*i)
		for j, c := range []zcodes{low, high} {
			t := z.table32(p.join(z.shared["counted"], i+j), p.join(z.shared["more"], i+j))
			z.fifth(32*(i+j), c, fifth, i+j, t)
		}
	}
}

// fifth writes 32 codes, whose fifth bits are bit n of those that are given.
func (z *zkernel) fifth(at int, c, bits zcodes, n int, t ztable) {
	if z.float32() {
		for j, b := range z.moved(bits, n-4) {
			VPTERNLOGD(Imm(choose), b, z.shared["low"], c[j])
		}
		z.lookup(at, c, t)
		return
	}
	x := z.index(c[0], 0)
	VPTERNLOGD(Imm(orAnd), z.moved(bits, n-5)[0], z.shared["fifth"], x)
	z.placed(at, x, t)
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
	kept := zkeep(z, s)
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
		z.signed16(64*i, high, z.room(64), kept, func(j int) int { return 4*i + j })
	}
}

// qwords64 is eight qwords.
func qwords64(of func(i int) int) Mem {
	return bytes64(func(i int) int { return of(i/8) >> (i % 8 * 8) })
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

func setIQ4XS(z *zkernel) {
	setIndex(z)
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
	kept, v := zkeep(z, top), z.shared["values"]
	for i := 0; i < 8; i += 2 {
		z.couple(32*i, 32*i+32, z.nibblesOf(8+16*i), z.nibblesOf(24+16*i), kept.by(v, i), kept.by(v, i+1))
	}
}
