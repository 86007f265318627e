package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// scales is memory for the scales of a block, one float32 each.
type scales struct{ at Mem }

func (k *kernel) scales(n int) scales { return scales{k.local(4 * n)} }

// keep stores eight scales.
func (s scales) keep(i int, y VecVirtual) { VMOVUPS(y, s.at.Offset(4*i)) }

// of is scale i in all lanes.
func (s scales) of(i int) VecVirtual {
	y := YMM()
	VBROADCASTSS(s.at.Offset(4*i), y)
	return y
}

// times is eight small integers in dwords, as floats, times d.
func times(y, d VecVirtual) {
	VCVTDQ2PS(y, y)
	VMULPS(d, y, y)
}

func and32(r Register, mask uint32) { ANDL(U32(mask), r) }

// sixBits unpacks the eight pairs of scale and minimum in 12 bytes.
func (k *kernel) sixBits(off int) (d, m VecVirtual) {
	out := [2]VecVirtual{}
	low, both := GP32(), GP32()
	for i := range 2 {
		own, high := GP32(), GP32()
		MOVL(k.from(off+4*i), own)
		MOVL(own, high)
		SHRL(Imm(2), high)
		and32(high, 0x30303030)
		MOVL(k.from(off+8), both)
		if i == 1 {
			SHRL(Imm(4), both)
		}
		and32(both, 0x0F0F0F0F)
		ORL(both, high)
		MOVL(own, low)
		and32(low, 0x3F3F3F3F)
		x := XMM()
		VMOVD(low, x)
		VPINSRD(Imm(1), high, x, x)
		y := YMM()
		VPMOVZXBD(x, y)
		out[i] = y
	}
	return out[0], out[1]
}

func q45K(high bool) func(*kernel) {
	return func(k *kernel) {
		d, m := k.sixBits(4)
		whole := k.halves(0)
		times(d, whole.d)
		times(m, whole.m)
		if !k.ordinary {
			quieted(d)
			quieted(m)
		}
		ds, ms := k.scales(8), k.scales(8)
		ds.keep(0, d)
		ms.keep(0, m)
		if !high && !k.wide {
			pairs(func(i int) looked {
				return k.table16Twice(counted, joinOf(pair{ds.pair(i), ms.pair(i)}, false))
			}, func(i int, l looked) {
				for half := 0; half < 32; half += 16 {
					codes := YMM()
					VBROADCASTI128(k.from(16+16*i+half), codes)
					VPSRLVD(dwords(0, 0, 0, 0, 4, 4, 4, 4), codes, codes)
					VPAND(k.shared["low"], codes, codes)
					k.lookupTwice(32*i+half, 32*i+32+half, codes, l)
				}
			})
			return
		}
		at := 16
		var fifth VecVirtual
		if high {
			at, fifth = 48, YMM()
			k.spreadQuads(k.from(16), fifth)
		}
		nibble := spreads{}
		ahead(8, func(i int) VecVirtual {
			codes := nibble.of(k, at+i/2*32, i%2*4)
			VPAND(k.shared["low"], codes, codes)
			if high {
				bit := YMM()
				switch {
				case i < 4:
					VPSLLW(Imm(uint64(4-i)), fifth, bit)
				case i == 4:
					VMOVDQA(fifth, bit)
				default:
					VPSRLW(Imm(uint64(i-4)), fifth, bit)
				}
				VPAND(k.constant(bytes32(0x10)), bit, bit)
				VPOR(bit, codes, codes)
			}
			return codes
		}, func(i int, codes VecVirtual) {
			p := pair{ds.of(i), ms.of(i)}
			if !high && !k.float32() {
				k.lookup(32*i, codes, k.table16(k.constants(counted, false), false, func(x VecVirtual) { p.join(x, false) }))
				return
			}
			k.affine(32*i, codes, p, p, false)
		})
	}
}

func q2K(k *kernel) {
	whole := k.halves(80)
	ds, ms := k.scales(16), k.scales(16)
	tables := k.smallTables(4, 16)
	x := XMM()
	VMOVDQU(k.from(0), x)
	for i, s := range [2]scales{ds, ms} {
		part := XMM()
		if i == 0 {
			VMOVDQA(x, part)
		} else {
			VPSRLW(Imm(4), x, part)
		}
		VPAND(bytes32(0x0F), part, part)
		for j := range 2 {
			y := YMM()
			VPMOVZXBD(part, y)
			if j == 0 {
				VPSRLDQ(Imm(8), part, part)
			}
			times(y, [2]VecVirtual{whole.d, whole.m}[i])
			quieted(y)
			s.keep(8*j, y)
		}
	}
	for i := range 2 {
		if k.wide {
			break
		}
		d, m := load(ds.at.Offset(32*i)), load(ms.at.Offset(32*i))
		tables.build(k, i, false, func(q int) VecVirtual {
			x := YMM()
			VMOVUPS(floats(float32(q)), x)
			pair{d, m}.join(x, false)
			return x
		})
	}
	bytes := spreads{}
	for r := range 8 {
		codes := bytes.twoBits(k, 16, r)
		if !k.wide {
			tables.lookup(k, r, codes)
			continue
		}
		k.affine(32*r, codes, pair{ds.of(2 * r), ms.of(2 * r)}, pair{ds.of(2*r + 1), ms.of(2*r + 1)}, false)
	}
}

// q3Scales unpacks sixteen 6-bit scales, less 32, times d. To F32 and F16 they
// are turned, else of each NaN is FFC00000.
func (k *kernel) q3Scales(off int, d VecVirtual) scales {
	s := k.scales(16)
	low, high, top := GP64(), GP64(), GP64()
	MOVQ(k.from(off), low)
	MOVL(k.from(off+8), top.As32())
	MOVQ(top, high)
	SHLQ(Imm(30), high) // the bits two higher, for the second four
	ORQ(top, high)
	mask := GP64()
	for i := range 2 {
		n, t := GP64(), GP64()
		MOVQ(low, n)
		MOVQ(high, t)
		if i == 1 {
			SHRQ(Imm(4), n)
			SHRQ(Imm(4), t)
		}
		MOVQ(U64(0x0F0F0F0F0F0F0F0F), mask)
		ANDQ(mask, n)
		MOVQ(U64(0x0303030303030303), mask)
		ANDQ(mask, t)
		SHLQ(Imm(4), t)
		ORQ(t, n)
		x, y := XMM(), YMM()
		VMOVQ(n, x)
		VPMOVZXBD(x, y)
		VPADDD(dwords(0xFFFFFFE0), y, y)
		times(y, d)
		if k.wide {
			k.negated(y)
		} else {
			canonical(y)
		}
		s.keep(8*i, y)
	}
	return s
}

func q3K(k *kernel) {
	s := k.q3Scales(96, k.half(108))
	tables := k.smallTables(8, 16)
	for i := range 2 {
		if k.wide {
			break
		}
		d := load(s.at.Offset(32 * i))
		tables.build(k, i, true, func(q int) VecVirtual {
			x, level := YMM(), float32(4-q) // less than nothing: products are turned
			if q == 4 {
				level = float32(math.Copysign(0, -1))
			}
			VMULPS(floats(level), d, x)
			return x
		})
	}
	bytes := spreads{}
	for r := range 8 {
		codes := bytes.twoBits(k, 32, r)
		if !k.wide {
			third := bytes.of(k, 0, r-2)
			VPAND(bytes32(4), third, third)
			VPOR(third, codes, codes)
			tables.lookup(k, r, codes)
			continue
		}
		clear := bytes.of(k, 0, 0)
		VPANDN(bytes32(1<<r), clear, clear)
		VPCMPEQB(bytes32(1<<r), clear, clear)
		VPAND(bytes32(0xFC), clear, clear) // -4 where the bit is clear
		VPADDB(clear, codes, codes)
		k.scaled(32*r, codes, s.of(2*r), s.of(2*r+1))
	}
}

// ofSixes is what codes of six bits need.
func ofSixes() []Mem { return append(toWords(), bytes32(0x0F), bytes32(0x30)) }

func q6K(k *kernel) {
	d, s := k.half(208), k.scales(16)
	for i := range 2 {
		y := YMM()
		VPMOVSXBD(k.from(192+8*i), y)
		times(y, d)
		k.negated(y)
		s.keep(8*i, y)
	}
	bytes := spreads{}
	ahead(8, func(i int) VecVirtual {
		codes := bytes.of(k, i/4*64+i%2*32, i%4/2*4)
		VPAND(k.constant(bytes32(0x0F)), codes, codes)
		high := bytes.of(k, 128+i/4*32, i%4*2-4)
		VPAND(k.constant(bytes32(0x30)), high, high)
		VPOR(high, codes, codes)
		VPADDB(bytes32(0xE0), codes, codes)
		return codes
	}, func(i int, codes VecVirtual) { k.scaled(32*i, codes, s.of(2*i), s.of(2*i+1)) })
}

// spreads are bytes in the order of quads, by where they are: several runs take
// theirs from the same ones.
type spreads map[int]VecVirtual

// of is those at off, their words shifted down.
func (s spreads) of(k *kernel, off, down int) VecVirtual {
	if s[off] == nil {
		s[off] = YMM()
		k.spreadQuads(k.from(off), s[off])
	}
	y := YMM()
	switch {
	case down > 0:
		VPSRLW(Imm(uint64(down)), s[off], y)
	case down < 0:
		VPSLLW(Imm(uint64(-down)), s[off], y)
	default:
		VMOVDQA(s[off], y)
	}
	return y
}

// twoBits is run r of 32 two-bit codes, the layout of the K types.
func (s spreads) twoBits(k *kernel, off, r int) VecVirtual {
	y := s.of(k, off+r/4*32, r%4*2)
	VPAND(bytes32(3), y, y)
	return y
}

// ahead takes the codes of each run from memory before the run before it is
// written: processors look few instructions ahead.
func ahead(n int, read func(i int) VecVirtual, write func(i int, codes VecVirtual)) {
	next := read(0)
	for i := range n {
		codes := next
		if i+1 < n {
			next = read(i + 1)
		}
		write(i, codes)
	}
}

// spread puts fields of a register into the bytes of a mask's fields.
func spread(src Register, mask uint64) VecVirtual {
	m, r, x := GP64(), GP64(), XMM()
	MOVQ(U64(mask), m)
	PDEPQ(m, src, r)
	VMOVQ(r, x)
	return x
}

func iq4XS(k *kernel) {
	d, s := k.half(0), k.scales(8)
	low, high := GP64(), GP64()
	MOVL(k.from(4), low.As32())
	MOVWQZX(k.from(2), high)
	sc, top, y := spread(low, 0x0F0F0F0F0F0F0F0F), spread(high, 0x3030303030303030), YMM()
	VPOR(top, sc, sc)
	VPMOVZXBD(sc, y)
	VPADDD(dwords(0xFFFFFFE0), y, y)
	times(y, d)
	if !k.ordinary {
		canonical(y)
	}
	s.keep(0, y)
	if !k.wide {
		pairs(func(i int) looked {
			return k.table16Twice(iq4Values, timesOf(s.pair(i), signedProduct))
		}, func(i int, l looked) {
			low, high := k.nibblesTwice(load(k.from(8 + 16*i)))
			k.lookupTwice(32*i, 32*i+32, low, l)
			k.lookupTwice(32*i+16, 32*i+48, high, l)
		})
		return
	}
	for i := range 8 {
		d := s.of(i)
		k.whole(32*i, k.nibbles(8+16*i), iq4Values, d)
	}
}
