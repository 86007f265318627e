package avx2

import (
	"math"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A scales is memory for the scales of a block, one float32 each.
type scales struct{ at Mem }

func (k *kernel) scales(n int) scales { return scales{k.Local(4 * n)} }

// keep stores eight scales.
func (s scales) keep(i int, y VecVirtual) { VMOVUPS(y, s.at.Offset(4*i)) }

// times converts eight small integers in dwords to floats and multiplies them by d.
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
		own := Into(GP32(), MOVL, k.From(off+4*i))
		high := Into(GP32(), MOVL, own)
		SHRL(Imm(2), high)
		and32(high, 0x30303030)
		MOVL(k.From(off+8), both)
		if i == 1 {
			SHRL(Imm(4), both)
		}
		and32(both, 0x0F0F0F0F)
		ORL(both, high)
		MOVL(own, low)
		and32(low, 0x3F3F3F3F)
		x := Into(XMM(), VMOVD, low)
		VPINSRD(Imm(1), high, x, x)
		y := Into(YMM(), VPMOVZXBD, x)
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
		ds, ms := k.scales(8), k.scales(8)
		ds.keep(0, d)
		ms.keep(0, m)
		if !high && !k.Wide {
			k.pairs(func(g *groups, i int) tables16 {
				return k.table16Twice(counted, pair{g.pair(ds, i), g.pair(ms, i)}.less)
			}, func(g *groups, i int, l tables16) {
				for half := 0; half < 32; half += 16 {
					codes := Into(YMM(), VBROADCASTI128, g.at(k.From(16+half), 32, i))
					VPSRLVD(Dwords(0, 0, 0, 0, 4, 4, 4, 4), codes, codes)
					VPAND(k.shared["low"], codes, codes)
					k.lookupTwice(64*i+half, 64*i+32+half, codes, l)
				}
			})
			return
		}
		at := 16
		var fifth VecVirtual
		if high {
			at, fifth = 48, YMM()
			k.spreadQuads(k.From(16), fifth)
		}
		// Of each 32 bytes the low nibbles are a group, and the high ones another.
		round := 2
		if high && !k.float32() {
			round = 4
		}
		k.groupLoop(8, round, 4*round, 32, func(g *groups) {
			nibble := spreads{}
			ahead(round, func(i int) VecVirtual {
				codes := nibble.of(k, g.inRound(k.From(at+i/2*32), 16*round), i%2*4)
				VPAND(k.shared["low"], codes, codes)
				if high {
					bit := Into(YMM(), VPSLLW, Imm(uint64(4-i)), fifth)
					VPAND(k.constant(Bytes32(0x10)), bit, bit)
					VPOR(bit, codes, codes)
				}
				return codes
			}, func(i int, codes VecVirtual) {
				p := pair{g.of(ds, 1, i, 0), g.of(ms, 1, i, 0)}
				if !high && !k.float32() {
					k.lookup(32*i, codes, k.table16(k.constants(counted, false), false, func(x VecVirtual) { p.join(x, false) }))
					return
				}
				k.affine(32*i, codes, p, p, false)
			})
			if high { // those of the groups that come
				VPSRLW(Imm(uint64(round)), fifth, fifth)
			}
		})
	}
}

func q2K(k *kernel) {
	whole := k.halves(80)
	ds, ms := k.scales(16), k.scales(16)
	tables := k.smallTables(4, 16)
	x := Into(XMM(), VMOVDQU, k.From(0))
	for i, s := range [2]scales{ds, ms} {
		part := XMM()
		if i == 0 {
			VMOVDQA(x, part)
		} else {
			VPSRLW(Imm(4), x, part)
		}
		VPAND(Bytes32(0x0F), part, part)
		for j := range 2 {
			y := Into(YMM(), VPMOVZXBD, part)
			if j == 0 {
				VPSRLDQ(Imm(8), part, part)
			}
			times(y, [2]VecVirtual{whole.d, whole.m}[i])
			s.keep(8*j, y)
		}
	}
	for i := 0; i < 2 && !k.Wide; i++ {
		d, m := Load32(ds.at.Offset(32*i)), Load32(ms.at.Offset(32*i))
		tables.build(k, i, false, func(q int) VecVirtual {
			x := Into(YMM(), VMOVUPS, Floats(float32(q)))
			pair{d, m}.join(x, false)
			return x
		})
	}
	k.groupLoop(8, 4, 32, 32, func(g *groups) {
		bytes := spreads{}
		for i := range 4 {
			codes := bytes.twoBits(g, k.From(16), i)
			if !k.Wide {
				k.lookup(32*i, codes, tables.ofTwo(g, i, codes))
				continue
			}
			k.affine(32*i, codes, pair{g.of(ds, 2, i, 0), g.of(ms, 2, i, 0)}, pair{g.of(ds, 2, i, 1), g.of(ms, 2, i, 1)}, false)
		}
	})
}

// q3Scales unpacks sixteen 6-bit scales, minus 32, times d. To F32 and F16 they are
// negated, else NaN would not be FFC00000.
func (k *kernel) q3Scales(off int, d VecVirtual) scales {
	s := k.scales(16)
	low, high, top := GP64(), GP64(), GP64()
	MOVQ(k.From(off), low)
	MOVL(k.From(off+8), top.As32())
	MOVQ(top, high)
	SHLQ(Imm(30), high) // the bits two higher, for the second four
	ORQ(top, high)
	mask := GP64()
	for i := range 2 {
		n := Into(GP64(), MOVQ, low)
		t := Into(GP64(), MOVQ, high)
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
		x := Into(XMM(), VMOVQ, n)
		y := Into(YMM(), VPMOVZXBD, x)
		VPADDD(Dwords(0xFFFFFFE0), y, y)
		times(y, d)
		if k.Wide {
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
	for i := 0; i < 2 && !k.Wide; i++ {
		d := Load32(s.at.Offset(32 * i))
		tables.build(k, i, true, func(q int) VecVirtual {
			x, level := YMM(), float32(4-q) // less than nothing: products are negated
			if q == 4 {
				level = float32(math.Copysign(0, -1))
			}
			VMULPS(Floats(level), d, x)
			return x
		})
	}
	third := YMM() // the third bits of the groups that come: bit i of each byte is group i's
	k.spreadQuads(k.From(0), third)
	k.groupLoop(8, 4, 32, 32, func(g *groups) {
		bytes := spreads{}
		for i := range 4 {
			codes := bytes.twoBits(g, k.From(32), i)
			if !k.Wide {
				bit := moved(third, i-2)
				VPAND(Bytes32(4), bit, bit)
				VPOR(bit, codes, codes)
				k.lookup(32*i, codes, tables.ofTwo(g, i, codes))
				continue
			}
			bit := Into(YMM(), VPANDN, Bytes32(1<<i), third)
			VPCMPEQB(Bytes32(1<<i), bit, bit)
			VPAND(Bytes32(0xFC), bit, bit) // -4 where the bit is clear
			VPADDB(bit, codes, codes)
			k.scaled(32*i, codes, g.of(s, 2, i, 0), g.of(s, 2, i, 1))
		}
		VPSRLW(Imm(4), third, third)
	})
}

// ofSixes returns the constants of six-bit codes.
func ofSixes() []Mem { return append(toWords(), Bytes32(0x0F), Bytes32(0x30)) }

func q6K(k *kernel) {
	d, s := k.half(208), k.scales(16)
	for i := range 2 {
		y := Into(YMM(), VPMOVSXBD, k.From(192+8*i))
		times(y, d)
		k.negated(y)
		s.keep(8*i, y)
	}
	// A round is 64 bytes of low bits and 32 bytes of high ones.
	k.groupLoop(8, 4, 32, 32, func(g *groups) {
		bytes, low, high := spreads{}, g.inRound(k.From(0), 64), g.inRound(k.From(128), 32)
		ahead(4, func(i int) VecVirtual {
			codes := bytes.of(k, low.Offset(i%2*32), i/2*4)
			VPAND(k.constant(Bytes32(0x0F)), codes, codes)
			top := bytes.of(k, high, i*2-4)
			VPAND(k.constant(Bytes32(0x30)), top, top)
			VPOR(top, codes, codes)
			VPADDB(Bytes32(0xE0), codes, codes)
			return codes
		}, func(i int, codes VecVirtual) { k.scaled(32*i, codes, g.of(s, 2, i, 0), g.of(s, 2, i, 1)) })
	})
}

// A spreads has bytes in the order of quads, by address, since several groups use the same ones.
type spreads map[Mem]VecVirtual

// of returns those at m, with their words shifted down.
func (s spreads) of(k *kernel, m Mem, down int) VecVirtual {
	if s[m] == nil {
		s[m] = YMM()
		k.spreadQuads(m, s[m])
	}
	return moved(s[m], down)
}

// moved returns words shifted down, or up.
func moved(words VecVirtual, down int) VecVirtual {
	switch {
	case down > 0:
		return Into(YMM(), VPSRLW, Imm(uint64(down)), words)
	case down < 0:
		return Into(YMM(), VPSLLW, Imm(uint64(-down)), words)
	}
	return Into(YMM(), VMOVDQA, words)
}

// twoBits returns the two-bit codes of group i of a round of four, in the layout of the K
// types: 32 bytes a round from m on.
func (s spreads) twoBits(g *groups, m Mem, i int) VecVirtual {
	y := s.of(g.kernel, g.inRound(m, 32), i*2)
	VPAND(Bytes32(3), y, y)
	return y
}

// ahead loads the codes of each run before the previous run is written, since processors
// look only few instructions ahead.
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

// spread deposits fields of a register into the fields of a mask.
func spread(src Register, mask uint64) VecVirtual {
	m := Into(GP64(), MOVQ, U64(mask))
	r := Into(GP64(), PDEPQ, m, src)
	return Into(XMM(), VMOVQ, r)
}

func iq4XS(k *kernel) {
	d, s := k.half(0), k.scales(8)
	low, high := GP64(), GP64()
	MOVL(k.From(4), low.As32())
	MOVWQZX(k.From(2), high)
	sc, top, y := spread(low, 0x0F0F0F0F0F0F0F0F), spread(high, 0x3030303030303030), YMM()
	VPOR(top, sc, sc)
	VPMOVZXBD(sc, y)
	VPADDD(Dwords(0xFFFFFFE0), y, y)
	times(y, d)
	if !k.ordinary {
		canonical(y)
	}
	s.keep(0, y)
	if !k.Wide {
		k.pairs(func(g *groups, i int) tables16 {
			d := g.pair(s, i)
			return k.table16Twice(IQ4Values, func(v ...float32) VecVirtual { return signedProduct(d, v...) })
		}, func(g *groups, i int, l tables16) {
			low, high := k.nibblesTwice(Load32(g.at(k.From(8), 32, i)))
			k.lookupTwice(64*i, 64*i+32, low, l)
			k.lookupTwice(64*i+16, 64*i+48, high, l)
		})
		return
	}
	k.groupLoop(8, 1, 4, 32, func(g *groups) {
		k.whole(0, k.nibblesAt(g.at(k.From(8), 16, 0)), IQ4Values, g.of(s, 1, 0, 0))
	})
}
