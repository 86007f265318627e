package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lanesKernel parts dwords into their four bytes: four streams, each stride
// bytes behind the one before.
func lanesKernel() {
	entry("lanesAVX2", "lanes")
	function("lanesAVX2", "func(dst *byte, src *byte, stride int, n int)", "parts 32 dwords n times into four streams of their bytes.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	to := latticeOf(dst, Load(Param("stride"), GP64()), 4)
	n := Load(Param("n"), GP64())
	Label("more")
	var x, y [4]VecVirtual
	for i := range x {
		x[i] = load(Mem{Base: src, Disp: 32 * i})
		VPSHUFB(bytes32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), x[i], x[i])
	}
	for i := 0; i < 4; i += 2 {
		y[i], y[i+1] = YMM(), YMM()
		VPUNPCKLDQ(x[i+1], x[i], y[i])
		VPUNPCKHDQ(x[i+1], x[i], y[i+1])
	}
	order := load(dwords(0, 4, 1, 5, 2, 6, 3, 7))
	for i := range 4 {
		z := YMM()
		if i%2 == 0 {
			VPUNPCKLQDQ(y[i/2+2], y[i/2], z)
		} else {
			VPUNPCKHQDQ(y[i/2+2], y[i/2], z)
		}
		VPERMD(z, order, z)
		VMOVDQU(z, to.Row(i))
	}
	more(n, src, U32(128), dst, Imm(32))
}

// spreadKernel gives each nibble a byte, the low one of two first.
func spreadKernel() {
	entry("spreadAVX2", "spread")
	function("spreadAVX2", "func(dst *byte, src *byte, n int)", "gives each of 32 nibbles a byte, n times.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, low := Load(Param("n"), GP64()), load(bytes32(0x0F))
	Label("more")
	y, up := YMM(), YMM()
	VPMOVZXBW(Mem{Base: src}, y)
	VPSLLW(Imm(4), y, up)
	VPOR(up, y, y)
	VPAND(low, y, y)
	VMOVDQU(y, Mem{Base: dst})
	more(n, src, Imm(16), dst, Imm(32))
}

// swapKernel puts the bytes of sixteen in another order.
func swapKernel() {
	for _, size := range []int{2, 4, 8} {
		entry(fmt.Sprintf("with(swapAVX2, &swapOrders[%d][0])", size), "swap[%d]", size)
	}
	function("swapAVX2", "func(dst *byte, src *byte, order *byte, n int)", "puts each sixteen of 32 bytes in an order, n times.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	order, n := YMM(), GP64()
	VBROADCASTI128(Mem{Base: Load(Param("order"), GP64())}, order)
	Load(Param("n"), n)
	Label("more")
	y := YMM()
	VPSHUFB(order, load(Mem{Base: src}), y)
	VMOVDQU(y, Mem{Base: dst})
	more(n, src, Imm(32), dst, Imm(32))
}
