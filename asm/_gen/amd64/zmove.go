package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// zlanesKernel parts dwords into their four bytes: four streams, each stride
// bytes behind the one before.
func zlanesKernel() {
	function("lanesAVX512", "func(dst *byte, src *byte, stride int, n int)", "parts 32 dwords n times into four streams of their bytes.")
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
	more(n, src, U32(128), dst, Imm(32))
}

// zspreadKernel gives each nibble a byte, the low one of two first.
func zspreadKernel() {
	z := zmove("spreadAVX512", "", "gives each of 32 nibbles a byte, n times.")
	order, low := zload(bytes64(func(i int) int { return i % 8 * 4 })), all(0x0F0F0F0F)
	z.zpairs(16, func(x VecVirtual, wide bool) {
		if wide {
			VPMOVZXDQ(z.from(0), x)
			VPMULTISHIFTQB(x, order, x)
			VPANDD(low, x, x)
			return
		}
		VPMOVZXDQ(z.from(0), x.AsY())
		VPMULTISHIFTQB(x.AsY(), order.AsY(), x.AsY())
		VPANDD(low.AsY(), x.AsY(), x.AsY())
	})
}

// zswapKernel puts the bytes of sixteen in another order.
func zswapKernel() {
	z := zmove("swapAVX512", ", order *byte", "puts each sixteen of 32 bytes in an order, n times.")
	order := ZMM()
	VBROADCASTI32X4(Mem{Base: Load(Param("order"), GP64())}, order)
	z.zpairs(32, func(x VecVirtual, wide bool) {
		if wide {
			VMOVDQU64(z.from(0), x)
			VPSHUFB(order, x, x)
			return
		}
		VMOVDQU32(z.from(0), x.AsY())
		VPSHUFB(order.AsY(), x.AsY(), x.AsY())
	})
}

// A zmover writes 32 bytes a step, two steps together.
type zmover struct{ *zkernel }

func zmove(name, params, doc string) zmover {
	function(name, "func(dst *byte, src *byte"+params+", n int)", doc)
	return zmover{&zkernel{dst: Load(Param("dst"), GP64()), src: Load(Param("src"), GP64())}}
}

// zpairs ends the kernel: step makes what is written of so many bytes, or twice
// as many.
func (z zmover) zpairs(in int, step func(x VecVirtual, wide bool)) {
	// As numbers, 32 bytes are sixteen.
	zpairs(z.zkernel, "", Load(Param("n"), GP64()), in, 16, func() {
		x := ZMM()
		step(x, true)
		VMOVDQU64(x, z.to(0))
	}, func() {
		x := ZMM()
		step(x, false)
		VMOVDQU32(x.AsY(), z.to(0))
	})
	end()
}

// zfieldsKernel gives fields of a few bits a byte each. Eight fields of b bits
// take b bytes: a qword gets them and what follows, and each byte of it is cut
// out at a multiple of b bits. No more is read than the fields of a step and
// eight bytes from where the last eight of them begin.
func zfieldsKernel() {
	function("fieldsAVX512", "func(dst *byte, src *byte, tables *byte, step int, shift *uint64, n int)", "unpacks 32 fields of step bits n times. The 33rd byte of tables is taken off each.")
	z := &zkernel{dst: Load(Param("dst"), GP64()), src: Load(Param("src"), GP64())}
	tables, bits := Load(Param("tables"), GP64()), GP64()
	Load(Param("step"), bits)
	less, each, keep := ZMM(), ZMM(), ZMM()
	VPBROADCASTB(Mem{Base: tables, Disp: 32}, less)
	VPBROADCASTW(bits.As32(), each)
	places, cuts := ZMM(), ZMM()
	VPMULLW(bytes64(func(i int) int { return i / 8 }), each, places)
	VPADDB(bytes64(func(i int) int { return i % 8 }), places, places)
	VPMULLW(bytes64(func(i int) int { return i % 8 }), each, cuts)
	// Masks: of a field's bits, of the bytes of eight groups, and of four.
	ones, bytes, m := GP64(), GP64(), GP64()
	MOVQ(I64(-1), ones)
	BZHIQ(bits, ones, m)
	VPBROADCASTB(m.As32(), keep)
	LEAQ(Mem{Base: bits, Index: bits, Scale: 2, Disp: 8}, bytes)
	four, eight := K(), K()
	BZHIQ(bytes, ones, m)
	KMOVQ(m, four)
	LEAQ(Mem{Base: bytes, Index: bits, Scale: 4}, bytes)
	BZHIQ(bytes, ones, m)
	KMOVQ(m, eight)
	step := func(read OpmaskVirtual) VecVirtual {
		x := ZMM()
		VMOVDQU8_Z(z.from(0), read, x)
		VPERMB(x, places, x)
		VPMULTISHIFTQB(x, cuts, x)
		VPANDD(keep, x, x)
		VPSUBB(less, x, x)
		return x
	}
	n := Load(Param("n"), GP64())
	two := GP64()
	MOVQ(bits, two)
	SHLQ(Imm(3), two)
	SUBQ(Imm(2), n)
	JCS(LabelRef("odd"))
	Label("pair")
	VMOVDQU64(step(eight), z.to(0))
	ADDQ(two, z.src)
	ADDQ(Imm(64), z.dst)
	SUBQ(Imm(2), n)
	JCC(LabelRef("pair"))
	Label("odd")
	ADDQ(Imm(2), n)
	JZ(LabelRef("done"))
	VMOVDQU32(step(four).AsY(), z.to(0))
	Label("done")
	end()
}
