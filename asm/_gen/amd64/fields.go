package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// fieldsKernel gives fields of a few bits a byte each. Eight fields of b bits
// take b bytes: each gets the word that its two bytes are, a multiplication
// moves it to the top of the word, and a shift down to the bottom. It reads 16
// bytes for each eight fields.
func fieldsKernel() {
	entry("fieldsAVX2", "fields")
	function("fieldsAVX2", "func(dst *byte, src *byte, tables *byte, step int, shift *uint64, n int)", "unpacks 32 fields n times: tables are the bytes of eight fields, their factors, and what is taken off each.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	tables := Load(Param("tables"), GP64())
	order, factors, less, down := YMM(), YMM(), YMM(), XMM()
	VBROADCASTI128(Mem{Base: tables}, order)
	VBROADCASTI128(Mem{Base: tables, Disp: 16}, factors)
	VPBROADCASTB(Mem{Base: tables, Disp: 32}, less)
	from := latticeOf(src, Load(Param("step"), GP64()), 4)
	VMOVQ(Mem{Base: Load(Param("shift"), GP64())}, down)
	n := Load(Param("n"), GP64())
	Label("more")
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
	y := YMM()
	VPACKUSWB(words[1], words[0], y)
	VPERMQ(Imm(quads), y, y)
	VPSUBB(less, y, y)
	VMOVDQU(y, Mem{Base: dst})
	LEAQ(Mem{Base: src, Index: from.Stride, Scale: 4}, src)
	ADDQ(Imm(32), dst)
	DECQ(n)
	JNZ(LabelRef("more"))
	end()
}

// pickKernel takes one field of each word: a shift to the bottom and a mask.
func pickKernel() {
	entry("pickAVX2", "pick")
	function("pickAVX2", "func(dst *byte, src *byte, shift *uint64, mask *uint32, n int)", "takes a field of each of 32 words n times, as bytes.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	shift, mask := XMM(), YMM()
	VMOVQ(Mem{Base: Load(Param("shift"), GP64())}, shift)
	VPBROADCASTD(Mem{Base: Load(Param("mask"), GP64())}, mask)
	n, order := Load(Param("n"), GP64()), load(dwords(0, 4, 1, 5, 2, 6, 3, 7))
	Label("more")
	var x [4]VecVirtual
	for i := range x {
		x[i] = YMM()
		VMOVDQU(Mem{Base: src, Disp: 32 * i}, x[i])
		VPSRLD(shift, x[i], x[i])
		VPAND(mask, x[i], x[i])
	}
	VPACKUSDW(x[1], x[0], x[0])
	VPACKUSDW(x[3], x[2], x[2])
	VPACKUSWB(x[2], x[0], x[0])
	VPERMD(x[0], order, x[0])
	VMOVDQU(x[0], Mem{Base: dst})
	more(n, src, U32(128), dst, Imm(32))
}
