package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zcolumned kernel is a columned one whose registers hold a code of each of eight
// columns, and the fourth code after it. A code needs no conversion: put below the
// exponent of a power of two whose last place is where its lowest bit lies, it is
// what that number is too large by.
type zcolumned struct {
	*zkernel
	bits                   int
	offsets, scales, zeros Register
	to                     lattice
	step, n                Register
	fields, powers         map[int]VecVirtual // by where a code lies
	down, add, odd, order  VecVirtual
}

func zcolumnsKernels() {
	for _, bits := range []int{4, 8} {
		for t := range targets {
			zcolumnsOf(map[int]string{4: "columns", 8: "byteColumns"}[bits], bits, targets[t])
		}
	}
}

func zcolumnsOf(stem string, bits int, t target) {
	function(stem+t.name+"AVX512", columnsParams, "decodes eight codes of each of eight columns, n times.")
	k := &zcolumned{zkernel: &zkernel{wide: t.wide, narrow: t.narrow}, bits: bits, fields: map[int]VecVirtual{}, powers: map[int]VecVirtual{}}
	k.dst, k.src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	k.offsets = Load(Param("offsets"), GP64())
	k.scales, k.zeros = Load(Param("scales"), GP64()), Load(Param("zeros"), GP64())
	k.to = latticeOf(k.dst, Load(Param("dstStride"), GP64()), 8)
	k.step, k.n = Load(Param("srcStride"), GP64()), Load(Param("n"), GP64())
	for at := 0; at < 16; at += bits {
		k.fields[at], k.powers[at] = all((1<<bits-1)<<at), all(uint32(127+23-at)<<23)
	}
	k.down = zload(dwords64(func(i int) int { return i / 8 * 16 }))
	k.tops, k.add, k.odd = all(0x80000000), all(roundTurn), all(1<<16)
	k.ones = all(1)
	k.order = zload(qwords64(func(i int) int { return i%2*4 + i/2 }))
	k.upper, k.lower = k.rows(4), k.rows(0)
	k.loop("more")
}

// rows is where the words of four rows from one on lie in two registers of codes 0,
// 4, 1 and 5, and 2, 6, 3 and 7.
func (k *zcolumned) rows(first int) VecVirtual {
	places := [8]int{0, 16, 32, 48, 8, 24, 40, 56}
	return zload(words64(func(i int) int { return places[i%8] + first + i/8 }))
}

// both is the numbers of two groups.
func (k *zcolumned) both(p Register, at [2]Register) VecVirtual {
	x := ZMM()
	VMOVUPS(Mem{Base: p, Index: at[0], Scale: 1}, x.AsY())
	VINSERTF64X4(Imm(1), Mem{Base: p, Index: at[1], Scale: 1}, x, x)
	return x
}

// loop is one over all words, to the end of the kernel.
func (k *zcolumned) loop(label string) {
	Label(label)
	words := ZMM()
	if k.bits == 4 {
		VBROADCASTI64X4(k.from(0), words)
		VPSRLVD(k.down, words, words)
	} else {
		VMOVDQU(k.from(0), words.AsY())
		VINSERTI64X4(Imm(1), Mem{Base: k.src, Index: k.step, Scale: 1}, words, words)
		ADDQ(k.step, k.src)
	}
	ADDQ(k.step, k.src)
	var x [4]VecVirtual
	for i := range x {
		field := i * k.bits
		if field == 16 {
			VPSRLD(Imm(16), words, words)
		}
		var at [2]Register
		for j := range at {
			at[j] = GP64()
			MOVL(Mem{Base: k.offsets, Disp: 4 * (i + 4*j)}, at[j].(GPVirtual).As32())
		}
		x[i] = ZMM()
		VMOVDQA64(k.powers[field%16], x[i])
		VPTERNLOGD(Imm(orAnd), k.fields[field%16], words, x[i])
		VSUBPS(k.powers[field%16], x[i], x[i])
		VSUBPS(k.both(k.zeros, at), x[i], x[i])
		VMULPS(k.both(k.scales, at), x[i], x[i])
		if k.wide {
			VPXORD(k.tops, x[i], x[i])
		}
	}
	switch {
	case k.narrow:
		k.turnHalves(x)
	case k.wide:
		k.turnDwords(x)
	default:
		k.turnPairs(k.pack(x[0], x[1]), k.pack(x[2], x[3]))
	}
	ADDQ(Imm(32), k.offsets)
	k.to.advance(U32(8 * k.width()))
	DECQ(k.n)
	JNZ(LabelRef(label))
	end()
}

// pack rounds numbers, turns their sign, and joins them as words.
func (k *zcolumned) pack(even, odd VecVirtual) VecVirtual {
	for _, x := range [2]VecVirtual{even, odd} {
		up := K()
		VPTESTMD(k.odd, x, up)
		VPADDD(k.add, x, x)
		VPADDD(k.ones, x, up, x)
	}
	VPSRLD(Imm(16), even, even)
	VPTERNLOGD_BCST(Imm(orAnd), dwords(0xFFFF0000), odd, even)
	return even
}

// turnPairs writes two registers of pairs of words as rows.
func (k *zcolumned) turnPairs(p, q VecVirtual) {
	for i, unpack := range []func(...Op){VPUNPCKLDQ, VPUNPCKHDQ} {
		y := ZMM()
		unpack(q, p, y)
		VPERMQ(y, k.order, y)
		k.store4(y, [4]int{2 * i, 2*i + 1, 2*i + 4, 2*i + 5})
	}
}

// turnHalves rounds numbers to float16 and writes them as rows.
func (k *zcolumned) turnHalves(x [4]VecVirtual) {
	for i, y := range x {
		VCVTPS2PH(Imm(0), y, y.AsY())
		if i%2 == 1 {
			VINSERTI64X4(Imm(1), y.AsY(), x[i-1], x[i-1])
		}
	}
	upper := ZMM()
	VMOVDQA64(x[0], upper)
	VPERMT2W(x[2], k.lower, x[0])
	VPERMT2W(x[2], k.upper, upper)
	k.store4(x[0], [4]int{0, 1, 2, 3})
	k.store4(upper, [4]int{4, 5, 6, 7})
}

func (k *zcolumned) store4(y VecVirtual, rows [4]int) {
	VMOVDQU(y.AsX(), k.to.row(rows[0]))
	for i := 1; i < 4; i++ {
		VEXTRACTI32X4(Imm(uint64(i)), y, k.to.row(rows[i]))
	}
}

// turnDwords writes numbers as rows.
func (k *zcolumned) turnDwords(x [4]VecVirtual) {
	for i, first := range []func(...Op){VUNPCKLPS, VUNPCKHPS} {
		a, b := ZMM(), ZMM()
		first(x[1], x[0], a)
		first(x[3], x[2], b)
		for j, second := range []func(...Op){VUNPCKLPD, VUNPCKHPD} {
			y := ZMM()
			second(b, a, y)
			VSHUFF64X2(Imm(0xD8), y, y, y)
			VMOVUPS(y.AsY(), k.to.row(2*i+j))
			VEXTRACTF64X4(Imm(1), y, k.to.row(2*i+j+4))
		}
	}
}
