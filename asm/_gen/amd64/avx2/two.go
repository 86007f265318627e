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

// A two is two blocks at once to BF16 by tables, in three steps: what scales
// come to, tables of it, and numbers. Each takes long for one pair of blocks, and
// a processor looks few instructions ahead, so that the loop does the last step of
// one pair, the second of the next one, and the first of the one after.
type two struct {
	scale func(k *kernel, at Register) []VecVirtual
	odd   func(scale Mem, to Place) // leaves unless that is ordinary
	table func(k *kernel, scale []VecVirtual) tables16
	write func(k *kernel, l tables16)
}

// A twoLoop is the loop of pairs of blocks, in front of one of single blocks.
type twoLoop struct {
	singles Register // how many blocks are decoded singly before pairs are tried again
	pairs   Place
}

// loop decodes pairs of n blocks. The block that is left at the end, and pairs that are
// not ordinary, are left to the loop of single blocks behind it. Scales are read no
// further than to the last pair, whose are read again.
func (t *two) loop(k *kernel, l layout, n Register, done Place) *twoLoop {
	at, end, loop, tables := GP64(), GP64(), &twoLoop{GP64(), NewLabel("pairs")}, tables16{YMM(), YMM()}
	pair, next, odd, last := NewLabel("pair"), NewLabel("tables"), NewLabel("odd"), NewLabel("last")
	loop.pairs.Here()
	SUBQ(Imm(2), n)
	JCS(last.Ref())
	MOVQ(n, end)
	SHRQ(Imm(1), end)
	IMUL3Q(U32(2*l.bytes), end, end)
	ADDQ(k.src, end)
	MOVQ(k.src, at)
	scales := t.scale(k, at)
	JMP(next.Ref())
	pair.Here()
	Comment("Two blocks by their tables, which are halves of registers.")
	t.write(k, tables)
	ADDQ(U32(2*l.bytes), k.src)
	k.prefetch(2 * l.elems)
	ADDQ(U32(2*l.elems*k.Width()), k.dst)
	SUBQ(Imm(2), n)
	JCS(last.Ref())
	next.Here()
	Comment("The tables of the pair that comes, and the scales of the one behind it.")
	t.odd(Mem{Base: at}, odd)
	t.odd(Mem{Base: at, Disp: l.bytes}, odd)
	carry(tables, t.table(k, scales))
	ADDQ(U32(2*l.bytes), at)
	CMPQ(at, end)
	CMOVQHI(end, at)
	carry(scales, t.scale(k, at))
	JMP(pair.Ref())
	odd.Here()
	MOVQ(U32(2), loop.singles)
	last.Here()
	ADDQ(Imm(2), n)
	JZ(done.Ref())
	return loop
}

// singleDone ends the loop of single blocks: the flag says whether it was the last one.
func (l *twoLoop) singleDone(block, done Place) {
	JZ(done.Ref())
	DECQ(l.singles)
	JNZ(block.Ref())
	JMP(l.pairs.Ref())
}

// carry moves what the next round needs.
func carry(to, from []VecVirtual) {
	for i := range to {
		VMOVDQA(from[i], to[i])
	}
}

// halfPairs is two float16 at a and two at b, alternating.
func halfPairs(a, b Mem) VecVirtual {
	x := Into(XMM(), VPBROADCASTD, a)
	other := Into(XMM(), VPBROADCASTD, b)
	VPBLENDD(Imm(0x0C), other, x, x)
	return Into(YMM(), VCVTPH2PS, x)
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

// writeTwo writes two blocks of 32, at whose ends the nibbles are: what is read with
// those of the first is of the second.
func writeTwo(size int) func(k *kernel, l tables16) {
	return func(k *kernel, l tables16) {
		y := Into(YMM(), VBROADCASTI128, k.from(2*size-16))
		VPBLENDD(Imm(0x0F), k.from(size-16), y, y)
		low, high := k.nibblesTwice(y)
		k.lookupTwice(0, 32, low, l)
		k.lookupTwice(16, 48, high, l)
	}
}

// scaleTwo is two float16, each in a half, of blocks of 18 bytes.
func scaleTwo(_ *kernel, at Register) []VecVirtual {
	return []VecVirtual{firsts(halfPairs(Mem{Base: at}, Mem{Base: at, Disp: 18}))}
}

// twoTables16 is blocks of 32 nibbles under a float16.
func twoTables16(v [16]float32) *two {
	return &two{scaleTwo, ifHalfOdd, func(k *kernel, scale []VecVirtual) tables16 {
		return k.table16Twice(v, timesOf(scale[0], roundedProduct))
	}, writeTwo(18)}
}

// twoQ40 is blocks of Q4_0: eight magnitudes stand for all but nothing, which is
// given the sign of the scale.
var twoQ40 = &two{scaleTwo, ifHalfOdd, func(k *kernel, scale []VecVirtual) tables16 {
	number := timesOf(scale[0], roundedProduct)
	w, low, high := pack(number(1, 3, 5, 7), number(2, 4, 6, 8)), YMM(), YMM()
	VPSHUFB(Bytes32(14, 12, 10, 8, 6, 4, 2, 0, 0x80, 0, 2, 4, 6, 8, 10, 12), w, low)
	VPSHUFB(Bytes32(15, 13, 11, 9, 7, 5, 3, 1, 1, 1, 3, 5, 7, 9, 11, 13), w, high)
	VPAND(Bytes32(0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x80, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF), high, high)
	VPXOR(Bytes32(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 0, 0, 0, 0, 0, 0), high, high)
	return tables16{low, high}
}, writeTwo(18)}

// twoQ41 is blocks of Q4_1.
var twoQ41 = &two{func(k *kernel, at Register) []VecVirtual {
	y := halfPairs(Mem{Base: at}, Mem{Base: at, Disp: 20})
	return []VecVirtual{firsts(y), seconds(y)}
}, ifHalvesOddAt, func(k *kernel, scale []VecVirtual) tables16 {
	return k.table16Twice(counted, joinOf(pair{scale[0], scale[1]}, true))
}, writeTwo(20)}

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

// timesOf rounds exact products with an ordinary scale.
func timesOf(d VecVirtual, rounded func(d VecVirtual, v ...float32) VecVirtual) func(v ...float32) VecVirtual {
	return func(v ...float32) VecVirtual { return rounded(d, v...) }
}

// joinOf rounds what [pair.join] makes of values and ordinary numbers.
func joinOf(p pair, plus bool) func(v ...float32) VecVirtual {
	return func(v ...float32) VecVirtual {
		x := Into(YMM(), VMOVDQA, p.m)
		if plus {
			VFMADD231PS(Floats(v...), p.d, x)
		} else {
			VFMSUB231PS(Floats(v...), p.d, x)
		}
		rounded(x)
		return x
	}
}
