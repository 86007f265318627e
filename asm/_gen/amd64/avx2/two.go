package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Two scales at once: all that is made of one of them stands in the lower half
// of a register and all of the other in the upper half, which saves half of
// rounding and packing tables. Numbers looked up trade halves at the end.

// carry moves what the next round needs.
func carry(to, from []VecVirtual) {
	for i := range to {
		VMOVDQA(from[i], to[i])
	}
}

// firsts and seconds repeat one of the two.
func firsts(y VecVirtual) VecVirtual {
	return Into(YMM(), VMOVSLDUP, y)
}

func seconds(y VecVirtual) VecVirtual {
	return Into(YMM(), VMOVSHDUP, y)
}

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
	VMOVDQU(w, k.to(at))
	VPERM2I128(Imm(0x31), b, a, w)
	VMOVDQU(w, k.to(other))
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
