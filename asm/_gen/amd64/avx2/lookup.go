package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A tables16 is what the sixteen values of a code come to under one scale. For
// BF16 it is the rounded products, their low and their high bytes; for F32 the
// products themselves, eight and eight. Elements are then looked up, and no
// arithmetic is done on them.
type tables16 []VecVirtual

// A values is sixteen numbers in the two orders that tables are built in: even
// and odd ones for BF16, halves for F32.
type values struct{ a, b Mem }

// constants is the sixteen values of a type, negative where products are
// negated.
func (k *kernel) constants(v [16]float32, negated bool) values {
	var a, b []float32
	for i, f := range v {
		if negated {
			f = -f
		}
		if k.Wide && i < 8 || !k.Wide && i%2 == 0 {
			a = append(a, f)
		} else {
			b = append(b, f)
		}
	}
	return values{Floats(a...), Floats(b...)}
}

// table16 builds a table; join turns values into numbers, of the other sign
// where negated.
func (k *kernel) table16(v values, negated bool, join func(x VecVirtual)) tables16 {
	a, b := Load32(v.a), Load32(v.b)
	for _, x := range [2]VecVirtual{a, b} {
		join(x)
		if k.Wide {
			k.settle(x, negated)
		} else {
			k.nearest(x)
		}
	}
	if k.Narrow {
		high := YMM()
		VCVTPS2PH(Imm(0), a, a.AsX())
		VCVTPS2PH(Imm(0), b, high.AsX())
		VINSERTI128(Imm(1), high.AsX(), a, a)
		return split(a)
	}
	if k.Wide {
		return k.planes(a, b)
	}
	return split(k.packed(a, b, negated))
}

// split parts sixteen words: their low bytes in both halves of a register, and
// their high bytes.
func split(w VecVirtual) tables16 {
	VPSHUFB(Bytes32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15), w, w)
	l := tables16{YMM(), YMM()}
	VPERMQ(Imm(0x88), w, l[0])
	VPERMQ(Imm(0xDD), w, l[1])
	return l
}

// planes parts twice eight dwords into their four bytes, each sixteen in both
// halves of a register.
func (k *kernel) planes(a, b VecVirtual) (l tables16) {
	order := Bytes32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)
	VPSHUFB(order, a, a)
	VPSHUFB(order, b, b)
	for _, join := range []func(...Op){VPUNPCKLDQ, VPUNPCKHDQ} {
		p, first := YMM(), YMM()
		join(b, a, p)
		VPERMD(p, Load32(Dwords(0, 4, 1, 5)), first)
		VPERMD(p, Load32(Dwords(2, 6, 3, 7)), p)
		l = append(l, first, p)
	}
	return l
}

// lookup writes 32 elements by their codes: in the order of quads, but to F32 in
// the order of fours.
func (k *kernel) lookup(at int, codes VecVirtual, l tables16) { k.lookupTwo(at, codes, l, l) }

// lookupTwo is lookup where the first and the second sixteen have tables of
// their own.
func (k *kernel) lookupTwo(at int, codes VecVirtual, first, second tables16) {
	found := tables16{}
	for i := range first {
		found = append(found, YMM())
		VPSHUFB(codes, first[i], found[i])
	}
	for half, l := range [2]tables16{first, second} {
		if half == 1 && &l[0] != &first[0] {
			for i := range l {
				VPSHUFB(codes, l[i], found[i])
			}
		}
		var words []VecVirtual
		for i := 0; i < len(found); i += 2 {
			words = append(words, Into(YMM(), unpackBytes[half], found[i+1], found[i]))
		}
		if len(words) == 1 {
			VMOVDQU(words[0], k.To(at+16*half))
			continue
		}
		low := Into(YMM(), VPUNPCKLWD, words[1], words[0])
		high := Into(YMM(), VPUNPCKHWD, words[1], words[0])
		VMOVDQU(low, k.To(at+16*half))
		VMOVDQU(high, k.To(at+16*half+8))
	}
}

// numbersAt is what 32 codes in the order of fours stand for, by the planes of
// float32 numbers.
func (k *kernel) numbersAt(codes VecVirtual, l tables16) (out []VecVirtual) {
	found := [4]VecVirtual{}
	for i := range found {
		found[i] = Into(YMM(), VPSHUFB, codes, l[i])
	}
	for _, join := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW} {
		low, high := YMM(), YMM()
		join(found[1], found[0], low)
		join(found[3], found[2], high)
		a := Into(YMM(), VPUNPCKLWD, high, low)
		b := Into(YMM(), VPUNPCKHWD, high, low)
		out = append(out, a, b)
	}
	return out
}

// float32 reports a kernel to F32, which computes where others look up: four
// tables for its four bytes cost more than a multiplication.
func (k *kernel) float32() bool { return k.Wide && !k.Narrow }

// whole writes 32 elements of codes below 16 that stand for whole numbers,
// under a scale in which a NaN is FFC00000.
func (k *kernel) whole(at int, codes VecVirtual, v [16]float32, scale VecVirtual) {
	if !k.float32() {
		k.lookup(at, codes, k.by(k.constants(v, true), scale))
		return
	}
	var p []byte
	for _, f := range v {
		p = append(p, byte(int8(f)))
	}
	t := Load32(Bytes32(p...))
	VPSHUFB(codes, t, codes)
	d := Into(YMM(), VMULPS, Floats(-1), scale)
	k.scaled(at, codes, d, d)
}

// smallTables looks up codes of 4 or 8 levels, sixteen to a scale: the tables of
// eight scales are built at once, a level after the other, and lie in memory.
type smallTables struct {
	levels    int
	low, high Mem
}

func (k *kernel) smallTables(levels, scales int) smallTables {
	return smallTables{levels, k.Local(scales * levels), k.Local(scales * levels)}
}

// build makes the tables of the i-th eight scales; one of two levels that are
// next to one another may be nil, for none.
func (t smallTables) build(k *kernel, i int, negated bool, level func(q int) VecVirtual) {
	var low, high []VecVirtual
	for q := 0; q < t.levels; q += 4 {
		var w [2]VecVirtual
		for j := range w {
			a, b := level(q+2*j), level(q+2*j+1)
			for _, x := range [2]VecVirtual{a, b} {
				if x != nil {
					k.toWord(x)
				}
			}
			w[j] = k.packed(a, b, negated)
			VPSHUFB(Bytes32(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15), w[j], w[j])
		}
		l := Into(YMM(), VPSLLD, Imm(16), w[1])
		VPBLENDW(Imm(0xAA), l, w[0], l)
		h := Into(YMM(), VPSRLD, Imm(16), w[0])
		VPBLENDW(Imm(0xAA), w[1], h, h)
		low, high = append(low, l), append(high, h)
	}
	for j, v := range [2][]VecVirtual{low, high} {
		m := [2]Mem{t.low, t.high}[j].Offset(8 * t.levels * i)
		if t.levels == 4 {
			VMOVDQU(v[0], m)
			continue
		}
		y := Into(YMM(), VPUNPCKLDQ, v[1], v[0])
		VMOVDQU(y, m)
		VPUNPCKHDQ(v[1], v[0], y)
		VMOVDQU(y, m.Offset(32))
	}
}

// ofTwo is the tables of two scales of group i, for codes that it moves to the second ones.
// Those of eight levels lie as they were unpacked, and are for rounds of four groups.
func (t smallTables) ofTwo(g *groups, i int, codes VecVirtual) tables16 {
	second := byte(t.levels)
	VPOR(Bytes32(0, 0, 0, 0, 0, 0, 0, 0, second, second, second, second, second, second, second, second), codes, codes)
	l := tables16{YMM(), YMM()}
	for j, m := range [2]Mem{t.low, t.high} {
		if t.levels == 4 {
			VPBROADCASTQ(g.at(m, 8, i), l[j])
		} else {
			VBROADCASTI128(g.inRound(m.Offset(i%2*32+i/2*16), 64), l[j])
		}
	}
	return l
}

// of is the table of the scale of group i, over and over.
func (t smallTables) of(g *groups, i int) tables16 {
	l := tables16{YMM(), YMM()}
	for j, m := range [2]Mem{t.low, t.high} {
		if t.levels == 4 {
			VPBROADCASTD(g.at(m, 4, i), l[j])
		} else {
			VPBROADCASTQ(g.inRound(m.Offset(i/2*32+i%2*8), 16), l[j])
		}
	}
	return l
}

// lookupSigned is lookup with signs to be changed.
func (k *kernel) lookupSigned(at int, codes, minus VecVirtual, l tables16) {
	low, high := k.found(codes, l)
	VPXOR(minus, high, high)
	w := Into(YMM(), VPUNPCKLBW, high, low)
	VMOVDQU(w, k.To(at))
	VPUNPCKHBW(high, low, w)
	VMOVDQU(w, k.To(at+16))
}

// by is a table of values times a scale: the scale has its sign, a NaN among
// scales is FFC00000.
func (k *kernel) by(v values, scale VecVirtual) tables16 {
	return k.table16(v, true, func(x VecVirtual) { VMULPS(scale, x, x) })
}

// canonical makes every NaN among scales FFC00000.
func canonical(s VecVirtual) {
	nan := Into(YMM(), VCMPPS, Imm(3), s, s)
	VBLENDVPS(nan, Dwords(0xFFC00000), s, s)
}

// Two scales at once: all that is made of one of them is in the lower half
// of a register and all of the other in the upper half, which saves half of
// rounding and packing tables. Numbers looked up trade halves at the end.

// carry moves what the next round needs.
func carry(to, from []VecVirtual) {
	for i := range to {
		VMOVDQA(from[i], to[i])
	}
}

// firsts and seconds repeat one of the two.
func firsts(y VecVirtual) VecVirtual { return Into(YMM(), VMOVSLDUP, y) }

func seconds(y VecVirtual) VecVirtual { return Into(YMM(), VMOVSHDUP, y) }

// join is a in the lower and b in the upper half.
func join(a, b Mem) VecVirtual {
	y := Into(YMM(), VBROADCASTI128, a)
	VINSERTI128(Imm(1), b, y, y)
	return y
}

// table16Twice is table16 for the scales of both halves; join makes numbers of some
// values, rounded.
func (k *kernel) table16Twice(v [16]float32, join func(v ...float32) VecVirtual) tables16 {
	var parted [2]VecVirtual
	for i := range parted {
		v := v[8*i:]
		parted[i] = pack(join(v[0], v[2], v[4], v[6]), join(v[1], v[3], v[5], v[7]))
	}
	return splitTwice(parted)
}

// splitTwice parts words of two tables, eight each in a register: low bytes, and
// high bytes.
func splitTwice(parted [2]VecVirtual) tables16 {
	for _, w := range parted {
		VPSHUFB(Bytes32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15), w, w)
	}
	l := tables16{YMM(), YMM()}
	VPUNPCKLQDQ(parted[1], parted[0], l[0])
	VPUNPCKHQDQ(parted[1], parted[0], l[1])
	return l
}

// lookupTwice writes sixteen elements of one block and sixteen of another by
// their codes and tables, which are halves of registers.
func (k *kernel) lookupTwice(at, other int, codes VecVirtual, l tables16) {
	low, high := k.found(codes, l)
	a := Into(YMM(), VPUNPCKLBW, high, low)
	b := Into(YMM(), VPUNPCKHBW, high, low)
	w := Into(YMM(), VINSERTI128, Imm(1), b.AsX(), a)
	VMOVDQU(w, k.To(at))
	VPERM2I128(Imm(0x31), b, a, w)
	VMOVDQU(w, k.To(other))
}

// nibblesTwice parts 16 bytes of each of two blocks.
func (k *kernel) nibblesTwice(y VecVirtual) (low, high VecVirtual) {
	low, high = YMM(), YMM()
	VPSRLW(Imm(4), y, high)
	VPAND(k.shared["low"], y, low)
	VPAND(k.shared["low"], high, high)
	return low, high
}

// pair is the scales of the two groups of pair i, each in a half.
func (g *groups) pair(s scales, i int) VecVirtual {
	y := Into(YMM(), VBROADCASTSS, g.at(s.at, 8, i))
	other := Into(YMM(), VBROADCASTSS, g.at(s.at.Offset(4), 8, i))
	VPBLENDD(Imm(0xF0), other, y, y)
	return y
}

// pairs is the loop over eight groups by pairs, two in a round: the tables of one are built
// before those of the other are looked up.
func (k *kernel) pairs(table func(g *groups, i int) tables16, write func(g *groups, i int, l tables16)) {
	k.groupLoop(4, 2, 8, 64, func(g *groups) {
		first := table(g, 0)
		second := table(g, 1)
		write(g, 0, first)
		write(g, 1, second)
	})
}

// less is q*d - m of codes q, rounded: the products are exact and the numbers ordinary.
func (p pair) less(q ...float32) VecVirtual {
	x := Into(YMM(), VMOVDQA, p.m)
	VFMSUB231PS(Floats(q...), p.d, x)
	rounded(x)
	return x
}
