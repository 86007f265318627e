package main

import (
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
	table func(k *kernel, scale []VecVirtual) looked
	write func(k *kernel, l looked)
}

// loop decodes all pairs of n blocks and leaves n at the blocks that are left.
// Scales are read no further than to the last pair, whose are read again.
func (t *two) loop(k *kernel, l layout, n Register) {
	SUBQ(Imm(2), n)
	JCS(LabelRef("last"))
	at, end := GP64(), GP64()
	MOVQ(n, end)
	SHRQ(Imm(1), end)
	IMUL3Q(U32(2*l.bytes), end, end)
	ADDQ(k.src, end)
	MOVQ(k.src, at)
	next := func() {
		ADDQ(U32(2*l.bytes), at)
		CMPQ(at, end)
		CMOVQHI(end, at)
	}
	tables := t.table(k, t.scale(k, at))
	next()
	scales := t.scale(k, at)
	Label("two")
	t.write(k, tables)
	carry(tables, t.table(k, scales))
	next()
	carry(scales, t.scale(k, at))
	ADDQ(U32(2*l.bytes), k.src)
	ADDQ(U32(2*l.elems*k.width()), k.dst)
	k.unsignWritten("two", 2, n)
	SUBQ(Imm(2), n)
	JCC(LabelRef("two"))
	Label("last")
	ADDQ(Imm(2), n)
	JZ(LabelRef("done"))
}

// carry moves what the next round needs.
func carry(to, from []VecVirtual) {
	for i := range to {
		VMOVDQA(from[i], to[i])
	}
}

// halfPairs is two float16 at a and two at b, in turns.
func halfPairs(a, b Mem, fix func(VecVirtual)) VecVirtual {
	x, other, y := XMM(), XMM(), YMM()
	VPBROADCASTD(a, x)
	VPBROADCASTD(b, other)
	VPBLENDD(Imm(0x0C), other, x, x)
	VCVTPH2PS(x, y)
	fix(y)
	return y
}

// firsts and seconds repeat one of the two.
func firsts(y VecVirtual) VecVirtual {
	x := YMM()
	VMOVSLDUP(y, x)
	return x
}

func seconds(y VecVirtual) VecVirtual {
	x := YMM()
	VMOVSHDUP(y, x)
	return x
}

// join is a in the lower and b in the upper half.
func join(a, b Mem) VecVirtual {
	y := YMM()
	VBROADCASTI128(a, y)
	VINSERTI128(Imm(1), b, y, y)
	return y
}

// table16Twice is table16 for the scales of both halves.
func (k *kernel) table16Twice(v [16]float32, turned bool, join func(v Mem) VecVirtual) looked {
	var parted [2]VecVirtual
	for i := range parted {
		var x [2]VecVirtual
		for j := range x {
			var four []float32
			for n := j; n < 8; n += 2 {
				f := v[8*i+n]
				if turned {
					f = -f
				}
				four = append(four, f)
			}
			x[j] = join(floats(four...))
			k.nearest(x[j])
		}
		w := pack(x[0], x[1])
		if !turned {
			k.unsigned(w)
		}
		VPSHUFB(bytes16(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15), w, w)
		parted[i] = w
	}
	l := looked{YMM(), YMM()}
	VPUNPCKLQDQ(parted[1], parted[0], l[0])
	VPUNPCKHQDQ(parted[1], parted[0], l[1])
	return l
}

// lookupTwice writes sixteen elements of one block and sixteen of another by
// their codes and tables, which are halves of registers.
func (k *kernel) lookupTwice(at, other int, codes VecVirtual, l looked) {
	low, high, a, b, w := YMM(), YMM(), YMM(), YMM(), YMM()
	VPSHUFB(codes, l[0], low)
	VPSHUFB(codes, l[1], high)
	VPUNPCKLBW(high, low, a)
	VPUNPCKHBW(high, low, b)
	VINSERTI128(Imm(1), b.AsX(), a, w)
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

// writeTwo writes two blocks of 32 whose nibbles begin at off.
func writeTwo(size, off int) func(k *kernel, l looked) {
	return func(k *kernel, l looked) {
		low, high := k.nibblesTwice(join(k.from(off), k.from(size+off)))
		k.lookupTwice(0, 32, low, l)
		k.lookupTwice(16, 48, high, l)
	}
}

// twoLooked is blocks of 32 nibbles at off, under a float16.
func twoLooked(size, off int, v [16]float32) *two {
	return &two{func(k *kernel, at Register) []VecVirtual {
		return []VecVirtual{firsts(halfPairs(Mem{Base: at}, Mem{Base: at, Disp: size}, canonical))}
	}, func(k *kernel, scale []VecVirtual) looked {
		return k.table16Twice(v, true, timesOf(scale[0]))
	}, writeTwo(size, off)}
}

// twoQ41 is blocks of Q4_1.
var twoQ41 = &two{func(k *kernel, at Register) []VecVirtual {
	y := halfPairs(Mem{Base: at}, Mem{Base: at, Disp: 20}, quieted)
	return []VecVirtual{firsts(y), seconds(y)}
}, func(k *kernel, scale []VecVirtual) looked {
	return k.table16Twice(counted, false, pair{scale[0], scale[1]}.joinOf(true))
}, func(k *kernel, l looked) {
	k.note(k.from(0))
	k.note(k.from(20))
	writeTwo(20, 4)(k, l)
}}

// pair is the scales i and i+1, each in a half.
func (s scales) pair(i int) VecVirtual {
	y, other := YMM(), YMM()
	VBROADCASTSS(s.at.Offset(4*i), y)
	VBROADCASTSS(s.at.Offset(4*i+4), other)
	VPBLENDD(Imm(0xF0), other, y, y)
	return y
}

// pairs builds the tables of each two of eight scales before those of the two
// before are looked up.
func pairs(table func(i int) looked, write func(i int, l looked)) {
	next := table(0)
	for i := 0; i < 8; i += 2 {
		l := next
		if i < 6 {
			next = table(i + 2)
		}
		write(i, l)
	}
}

// timesOf multiplies values in memory by a scale.
func timesOf(d VecVirtual) func(Mem) VecVirtual {
	return func(v Mem) VecVirtual {
		x := YMM()
		VMULPS(v, d, x)
		return x
	}
}

// joinOf is join for values in memory.
func (p pair) joinOf(plus bool) func(Mem) VecVirtual {
	return func(v Mem) VecVirtual {
		x := YMM()
		VMOVDQA(p.m, x)
		if plus {
			VFMADD231PS(v, p.d, x)
		} else {
			VFMSUB231PS(v, p.d, x)
		}
		return x
	}
}
