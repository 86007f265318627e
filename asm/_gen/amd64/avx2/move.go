package avx2

import (
	"fmt"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// limitKernel does nothing but widen bytes to words, with plain stores: the
// rate that no decoder can pass. For each 64 bytes written it moves on by step
// bytes, of 32 that it reads.
func limitKernel() {
	Frame("limitAVX2", "func(dst *byte, src *byte, step int, n int)", "writes 32 words n times, from step bytes each. It measures memory.",
		"For 32 bytes:", "word i = byte i;", "plain stores.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	step, n := Load(Param("step"), GP64()), Load(Param("n"), GP64())
	rounds(n, src, step, dst, Imm(64), func() {
		a := Into(YMM(), VPMOVZXBW, Mem{Base: src})
		b := Into(YMM(), VPMOVZXBW, Mem{Base: src, Disp: 16})
		VMOVDQU(a, Mem{Base: dst})
		VMOVDQU(b, Mem{Base: dst, Disp: 32})
	})
}

// lanesKernel parts dwords into their four bytes: four streams, each stride
// bytes behind the one before.
func lanesKernel() {
	Entry("lanesAVX2", "lanes")
	Frame("lanesAVX2", "func(dst *byte, src *byte, stride int, n int)", "parts 32 dwords n times into four streams of their bytes.",
		"For 32 dwords:", "bytes i of four dwords are brought together, then those of eight and of 32;", "stream i = bytes i.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	to := LatticeOf(dst, Load(Param("stride"), GP64()), 4)
	n := Load(Param("n"), GP64())
	rounds(n, src, U32(128), dst, Imm(32), func() {
		var x [4]VecVirtual
		for i := range x {
			x[i] = Load32(Mem{Base: src, Disp: 32 * i})
			VPSHUFB(Bytes32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), x[i], x[i])
		}
		y := pairwise(x[:], VPUNPCKLDQ, VPUNPCKHDQ)
		order := Load32(Dwords(0, 4, 1, 5, 2, 6, 3, 7))
		for i := range 4 {
			unpack := [2]func(...Op){VPUNPCKLQDQ, VPUNPCKHQDQ}[i%2]
			z := Into(YMM(), unpack, y[i/2+2], y[i/2])
			VPERMD(z, order, z)
			VMOVDQU(z, to.Row(i))
		}
	})
}

// spreadKernel gives each nibble a byte, the low one of two first.
func spreadKernel() {
	Entry("spreadAVX2", "spread")
	Frame("spreadAVX2", "func(dst *byte, src *byte, n int)", "gives each of 32 nibbles a byte, n times.",
		"For 16 bytes q:", "byte 2i = q[i] & 15,", "byte 2i+1 = q[i] >> 4.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, low := Load(Param("n"), GP64()), Load32(Bytes32(0x0F))
	rounds(n, src, Imm(16), dst, Imm(32), func() {
		y := Into(YMM(), VPMOVZXBW, Mem{Base: src})
		up := Into(YMM(), VPSLLW, Imm(4), y)
		VPOR(up, y, y)
		VPAND(low, y, y)
		VMOVDQU(y, Mem{Base: dst})
	})
}

// swapKernel puts the bytes of sixteen in another order.
func swapKernel() {
	for _, size := range []int{2, 4, 8} {
		Entry(fmt.Sprintf("with(swapAVX2, &swapOrders[%d][0])", size), "swap[%d]", size)
	}
	Frame("swapAVX2", "func(dst *byte, src *byte, order *byte, n int)", "puts each sixteen of 32 bytes in an order, n times.",
		"For 32 bytes,", "each sixteen of them:", "byte i = src[order[i]].")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	order, n := YMM(), GP64()
	VBROADCASTI128(Mem{Base: Load(Param("order"), GP64())}, order)
	Load(Param("n"), n)
	rounds(n, src, Imm(32), dst, Imm(32), func() {
		y := Into(YMM(), VPSHUFB, order, Load32(Mem{Base: src}))
		VMOVDQU(y, Mem{Base: dst})
	})
}

// fieldsKernel gives fields of a few bits a byte each. Eight fields of b bits
// take b bytes: each gets the word that its two bytes are, a multiplication
// moves it to the top of the word, and a shift down to the bottom. It reads 16
// bytes for each eight fields.
func fieldsKernel() {
	Entry("fieldsAVX2", "fields")
	Frame("fieldsAVX2", "func(dst *byte, src *byte, tables *byte, step int, shift *uint64, n int)", "unpacks 32 fields n times: tables are the bytes of eight fields, their factors, and what is taken off each.",
		"For 32 fields of b bits, of which eight take b bytes:", "word = the two bytes in which the field lies;",
		"byte = (word*factor >> shift) - less, the factor moving its field to the top.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	tables := Load(Param("tables"), GP64())
	order := Into(YMM(), VBROADCASTI128, Mem{Base: tables})
	factors := Into(YMM(), VBROADCASTI128, Mem{Base: tables, Disp: 16})
	less := Into(YMM(), VPBROADCASTB, Mem{Base: tables, Disp: 32})
	from := LatticeOf(src, Load(Param("step"), GP64()), 4)
	down := Into(XMM(), VMOVQ, Mem{Base: Load(Param("shift"), GP64())})
	n := Load(Param("n"), GP64())
	Repeat("more", n, func() {
		var words [2]Op
		for i := range words {
			y := YMM()
			VMOVDQU(from.Row(2*i), y.AsX())
			VINSERTI128(Imm(1), from.Row(2*i+1), y, y)
			VPSHUFB(order, y, y)
			VPMULLW(factors, y, y)
			VPSRLW(down, y, y)
			words[i] = y
		}
		y := Into(YMM(), VPACKUSWB, words[1], words[0])
		VPERMQ(Imm(quads), y, y)
		VPSUBB(less, y, y)
		VMOVDQU(y, Mem{Base: dst})
		LEAQ(Mem{Base: src, Index: from.Stride, Scale: 4}, src)
		ADDQ(Imm(32), dst)
	})
	End()
}

// pickKernel takes one field of each word: a shift to the bottom and a mask.
func pickKernel() {
	Entry("pickAVX2", "pick")
	Frame("pickAVX2", "func(dst *byte, src *byte, shift *uint64, mask *uint32, n int)", "takes a field of each of 32 words n times, as bytes.",
		"For 32 words:", "byte = word >> shift & mask,", "packed twice and put in order.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	shift := Into(XMM(), VMOVQ, Mem{Base: Load(Param("shift"), GP64())})
	mask := Into(YMM(), VPBROADCASTD, Mem{Base: Load(Param("mask"), GP64())})
	n, order := Load(Param("n"), GP64()), Load32(Dwords(0, 4, 1, 5, 2, 6, 3, 7))
	rounds(n, src, U32(128), dst, Imm(32), func() {
		var x [4]VecVirtual
		for i := range x {
			x[i] = Into(YMM(), VMOVDQU, Mem{Base: src, Disp: 32 * i})
			VPSRLD(shift, x[i], x[i])
			VPAND(mask, x[i], x[i])
		}
		VPACKUSDW(x[1], x[0], x[0])
		VPACKUSDW(x[3], x[2], x[2])
		VPACKUSWB(x[2], x[0], x[0])
		VPERMD(x[0], order, x[0])
		VMOVDQU(x[0], Mem{Base: dst})
	})
}
