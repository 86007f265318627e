package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// zlanesKernel parts dwords into their four bytes: four streams, each stride
// bytes behind the one before.
func zlanesKernel() {
	TEXT("lanesAVX512", NOSPLIT, "func(dst *byte, src *byte, stride int, n int)")
	Pragma("noescape")
	Doc("lanesAVX512 parts 32 dwords n times into four streams of their bytes.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	to := latticeOf(dst, Load(Param("stride"), GP64()), 4)
	n := Load(Param("n"), GP64())
	var orders [2]VecVirtual // of the bytes of 32 dwords, two streams each
	for i := range orders {
		orders[i] = zload(bytes64(func(j int) int { return j%32*4 + 2*i + j/32 }))
	}
	Label("more")
	a, b := zload(Mem{Base: src}), zload(Mem{Base: src, Disp: 64})
	for i, order := range orders {
		x := ZMM()
		VMOVDQA64(order, x)
		VPERMI2B(b, a, x)
		VMOVDQU32(x.AsY(), to.row(2*i))
		VEXTRACTI64X4(Imm(1), x, to.row(2*i+1))
	}
	ADDQ(U32(128), src)
	ADDQ(Imm(32), dst)
	DECQ(n)
	JNZ(LabelRef("more"))
	zend()
}

// zbytewise is kernels of 32 bytes written at a time, two steps together.
func zbytewise(name, doc string, in int, before func(z *zkernel), step func(z *zkernel, wide bool)) {
	TEXT(name, NOSPLIT, "func(dst *byte, src *byte, n int)")
	Pragma("noescape")
	Doc(name + " " + doc)
	z := &zkernel{dst: Load(Param("dst"), GP64()), src: Load(Param("src"), GP64())}
	n := Load(Param("n"), GP64())
	before(z)
	zpairs(z, "", n, in, 16, func() { step(z, true) }, func() { step(z, false) })
	zend()
}

// zspreadKernel gives each nibble a byte, the low one of two first.
func zspreadKernel() {
	var order, low VecVirtual
	zbytewise("spreadAVX512", "gives each of 32 nibbles a byte, n times.", 16,
		func(*zkernel) {
			order = zload(bytes64(func(i int) int { return i % 8 * 4 }))
			low = all(0x0F0F0F0F)
		},
		func(z *zkernel, wide bool) {
			x := ZMM()
			if wide {
				VPMOVZXDQ(z.from(0), x)
				VPMULTISHIFTQB(x, order, x)
				VPANDD(low, x, x)
				VMOVDQU64(x, z.to(0))
				return
			}
			VPMOVZXDQ(z.from(0), x.AsY())
			VPMULTISHIFTQB(x.AsY(), order.AsY(), x.AsY())
			VPANDD(low.AsY(), x.AsY(), x.AsY())
			VMOVDQU32(x.AsY(), z.to(0))
		})
}

// zswapKernels turns the bytes of numbers around, 32 bytes at a time.
func zswapKernels() {
	for _, size := range []int{2, 4, 8} {
		var order VecVirtual
		zbytewise(fmt.Sprintf("swap%dAVX512", size), fmt.Sprintf("turns around the bytes of 32 bytes of numbers of %d, n times.", size), 32,
			func(*zkernel) {
				order = zload(bytes64(func(i int) int { return i%16/size*size + size - 1 - i%size }))
			},
			func(z *zkernel, wide bool) {
				x := ZMM()
				if wide {
					VPSHUFB(order, zload(z.from(0)), x)
					VMOVDQU64(x, z.to(0))
					return
				}
				VMOVDQU32(z.from(0), x.AsY())
				VPSHUFB(order.AsY(), x.AsY(), x.AsY())
				VMOVDQU32(x.AsY(), z.to(0))
			})
	}
}
