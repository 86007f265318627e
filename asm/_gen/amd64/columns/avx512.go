// Package columns is codes of which a word holds those of a column below each other.
package columns

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Params are those of the kernels.
const Params = "func(dst *byte, src *byte, offsets *uint32, scales *float32, zeros *float32, dstStride int, srcStride int, doubles bool, n int)"

// A kernel decodes columns of words: its registers hold a code of each of eight
// columns, and the fourth code after it. A code needs no conversion: put below the
// exponent of a power of two whose last place is where its lowest bit lies, it is
// what that number is too large by.
type kernel struct {
	*Kernel
	bits                   int
	offsets, scales, zeros Register
	to                     Lattice
	step, n                Register
	fields, powers         map[int]VecVirtual // by where a code lies
	down, add, odd, order  VecVirtual
	one, minus             VecVirtual
	upper, lower           VecVirtual
}

// AVX512 writes kernels in registers of 64 bytes. They do not take scales as float64.
func AVX512() {
	for _, bits := range []int{4, 8} {
		for _, t := range Targets {
			write(map[int]string{4: "columns", 8: "byteColumns"}[bits], bits, t)
		}
	}
}

func write(stem string, bits int, t Target) {
	Frame(stem+t.Name+"AVX512", Params, "decodes eight codes of each of eight columns, n times.",
		"For each code q of eight columns, eight below each other:",
		"number = (q-zero)*scale, of its group and column, each step rounded to float32;",
		"transposed, so that those of a column are a row.")
	k := &kernel{Kernel: &Kernel{Target: t}, bits: bits, fields: map[int]VecVirtual{}, powers: map[int]VecVirtual{}}
	k.Dst, k.Src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	k.offsets = Load(Param("offsets"), GP64())
	k.scales, k.zeros = Load(Param("scales"), GP64()), Load(Param("zeros"), GP64())
	k.to = LatticeOf(k.Dst, Load(Param("dstStride"), GP64()), 8)
	k.step, k.n = Load(Param("srcStride"), GP64()), Load(Param("n"), GP64())
	for at := 0; at < 16; at += bits {
		k.fields[at], k.powers[at] = All((1<<bits-1)<<at), All(uint32(127+23-at)<<23)
	}
	k.down = Load64(Dwords64(func(i int) int { return i / 8 * 16 }))
	k.minus, k.add, k.odd = All(0x80000000), All(0x80000000+RoundPlain), All(1<<16)
	k.one = All(1)
	k.order = Load64(Qwords64(func(i int) int { return i%2*4 + i/2 }))
	k.upper, k.lower = k.rows(4), k.rows(0)
	k.loop()
}

// rows is where the words of four rows from one on lie in two registers of codes 0,
// 4, 1 and 5, and 2, 6, 3 and 7.
func (k *kernel) rows(first int) VecVirtual {
	places := [8]int{0, 16, 32, 48, 8, 24, 40, 56}
	return Load64(Words64(func(i int) int { return places[i%8] + first + i/8 }))
}

// both is the numbers of two groups.
func (k *kernel) both(p Register, at [2]Register) VecVirtual {
	x := ZMM()
	VMOVUPS(Mem{Base: p, Index: at[0], Scale: 1}, x.AsY())
	VINSERTF64X4(Imm(1), Mem{Base: p, Index: at[1], Scale: 1}, x, x)
	return x
}

// loop is one over all words, to the end of the kernel.
func (k *kernel) loop() {
	more := NewLabel("more")
	more.Here()
	Comment("The words of eight columns.")
	words := ZMM()
	if k.bits == 4 {
		VBROADCASTI64X4(k.From(0), words)
		VPSRLVD(k.down, words, words)
	} else {
		VMOVDQU(k.From(0), words.AsY())
		VINSERTI64X4(Imm(1), Mem{Base: k.Src, Index: k.step, Scale: 1}, words, words)
		ADDQ(k.step, k.Src)
	}
	ADDQ(k.step, k.Src)
	var x [4]VecVirtual
	Comment("Codes as numbers, joined with those of their groups.")
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
		VPTERNLOGD(Imm(OrAnd), k.fields[field%16], words, x[i])
		VSUBPS(k.powers[field%16], x[i], x[i])
		VSUBPS(k.both(k.zeros, at), x[i], x[i])
		VMULPS(k.both(k.scales, at), x[i], x[i])
		if k.Wide {
			VPXORD(k.minus, x[i], x[i])
		}
	}
	Comment("Rows.")
	switch {
	case k.Narrow:
		k.transposeHalves(x)
	case k.Wide:
		k.transposeDwords(x)
	default:
		k.transposePairs(k.pack(x[0], x[1]), k.pack(x[2], x[3]))
	}
	ADDQ(Imm(32), k.offsets)
	k.to.Advance(U32(8 * k.Width()))
	DECQ(k.n)
	JNZ(more.Ref())
	End()
}

// pack rounds numbers, negates them, and joins them as words.
func (k *kernel) pack(even, odd VecVirtual) VecVirtual {
	for _, x := range [2]VecVirtual{even, odd} {
		up := K()
		VPTESTMD(k.odd, x, up)
		VPADDD(k.add, x, x)
		VPADDD(k.one, x, up, x)
	}
	VPSRLD(Imm(16), even, even)
	VPTERNLOGD_BCST(Imm(OrAnd), Dwords(0xFFFF0000), odd, even)
	return even
}

// transposePairs writes two registers of pairs of words as rows.
func (k *kernel) transposePairs(p, q VecVirtual) {
	for i, unpack := range []func(...Op){VPUNPCKLDQ, VPUNPCKHDQ} {
		y := ZMM()
		unpack(q, p, y)
		VPERMQ(y, k.order, y)
		k.store4(y, [4]int{2 * i, 2*i + 1, 2*i + 4, 2*i + 5})
	}
}

// transposeHalves rounds numbers to float16 and writes them as rows.
func (k *kernel) transposeHalves(x [4]VecVirtual) {
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

func (k *kernel) store4(y VecVirtual, rows [4]int) {
	VMOVDQU(y.AsX(), k.to.Row(rows[0]))
	for i := 1; i < 4; i++ {
		VEXTRACTI32X4(Imm(uint64(i)), y, k.to.Row(rows[i]))
	}
}

// transposeDwords writes numbers as rows.
func (k *kernel) transposeDwords(x [4]VecVirtual) {
	for i, first := range []func(...Op){VUNPCKLPS, VUNPCKHPS} {
		a, b := ZMM(), ZMM()
		first(x[1], x[0], a)
		first(x[3], x[2], b)
		for j, second := range []func(...Op){VUNPCKLPD, VUNPCKHPD} {
			y := ZMM()
			second(b, a, y)
			VSHUFF64X2(Imm(0xD8), y, y, y)
			VMOVUPS(y.AsY(), k.to.Row(2*i+j))
			VEXTRACTF64X4(Imm(1), y, k.to.Row(2*i+j+4))
		}
	}
}
