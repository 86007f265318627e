package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A lattice is the addresses of up to sixteen rows at equal distances: those of
// every fourth, and two multiples of the distance.
type lattice struct {
	bases          []Register
	stride, triple Register
}

func latticeOf(base, stride Register, rows int) lattice {
	l := lattice{bases: []Register{base}, stride: stride, triple: GP64()}
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, l.triple)
	for i := 4; i < rows; i += 4 {
		next := GP64()
		LEAQ(Mem{Base: l.bases[i/4-1], Index: stride, Scale: 4}, next)
		l.bases = append(l.bases, next)
	}
	return l
}

// advance goes to the next square in a row.
func (l lattice) advance(bytes Op) {
	for _, base := range l.bases {
		ADDQ(bytes, base)
	}
}

func (l lattice) row(i int) Mem {
	base := l.bases[i/4]
	switch i % 4 {
	case 1:
		return Mem{Base: base, Index: l.stride, Scale: 1}
	case 2:
		return Mem{Base: base, Index: l.stride, Scale: 2}
	case 3:
		return Mem{Base: base, Index: l.triple, Scale: 1}
	}
	return Mem{Base: base}
}

// sides are how many rows and columns squares have, by the bytes of a number.
var sides = map[int]int{1: 16, 2: 8, 4: 8, 8: 4}

// transposeKernels turns squares of 16x16 bytes, 8x8 words or dwords, 4x4 qwords: as many
// columns of the source become rows, and n squares lie below each other.
func transposeKernels() {
	for _, size := range []int{1, 2, 4, 8} {
		side := sides[size]
		name := fmt.Sprintf("transpose%dAVX2", size)
		function(name, "func(dst *byte, src *byte, dstStride int, srcStride int, n int)", fmt.Sprintf("turns n squares of side %d, numbers of %d bytes.", side, size))
		dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
		to := latticeOf(dst, Load(Param("dstStride"), GP64()), side)
		from := latticeOf(src, Load(Param("srcStride"), GP64()), side)
		n, below := Load(Param("n"), GP64()), GP64()
		MOVQ(from.stride, below)
		SHLQ(Imm(map[int]uint64{16: 4, 8: 3, 4: 2}[side]), below)
		Label("square")
		square(size, from, to)
		from.advance(below)
		to.advance(Imm(uint64(side * size)))
		DECQ(n)
		JNZ(LabelRef("square"))
		end()
	}
}

func square(size int, from, to lattice) {
	switch size {
	case 1:
		bytes16x16(from, to)
	case 2:
		words8x8(from, to)
	case 4:
		dwords8x8(from, to)
	case 8:
		qwords4x4(from, to)
	}
}

// bytes16x16 has rows i and i+8 in the halves of a register.
func bytes16x16(from, to lattice) {
	var x [8]VecVirtual
	for i := range x {
		x[i] = YMM()
		VBROADCASTI128(from.row(i), x[i])
		VINSERTI128(Imm(1), from.row(i+8), x[i], x[i])
	}
	for i, y := range shuffled(x, YMM, VPUNPCKLBW, VPUNPCKHBW) {
		VPERMQ(Imm(quads), y, y)
		VMOVDQU(y.AsX(), to.row(2*i))
		VEXTRACTI128(Imm(1), y, to.row(2*i+1))
	}
}

func words8x8(from, to lattice) {
	var x [8]VecVirtual
	for i := range x {
		x[i] = XMM()
		VMOVDQU(from.row(i), x[i])
	}
	turnWords(x, to)
}

// turnWords writes eight rows of eight words as columns.
func turnWords(x [8]VecVirtual, to lattice) {
	for i, y := range shuffled(x, XMM, VPUNPCKLWD, VPUNPCKHWD) {
		VMOVDQU(y, to.row(i))
	}
}

// shuffled is a perfect shuffle of what eight registers hold, three times.
func shuffled(x [8]VecVirtual, register func() VecVirtual, low, high func(...Op)) [8]VecVirtual {
	for range 3 {
		var y [8]VecVirtual
		for i := range 4 {
			y[2*i], y[2*i+1] = register(), register()
			low(x[i+4], x[i], y[2*i])
			high(x[i+4], x[i], y[2*i+1])
		}
		x = y
	}
	return x
}

func dwords8x8(from, to lattice) {
	var x [8]VecVirtual
	for i := range x {
		x[i] = YMM()
		VMOVUPS(from.row(i), x[i])
	}
	turnDwords(x, to)
}

// turnDwords writes eight rows of eight dwords as columns.
func turnDwords(x [8]VecVirtual, to lattice) {
	var y [8]VecVirtual
	for i := 0; i < 8; i += 2 {
		y[i], y[i+1] = YMM(), YMM()
		VUNPCKLPS(x[i+1], x[i], y[i])
		VUNPCKHPS(x[i+1], x[i], y[i+1])
	}
	for i := 0; i < 8; i += 4 {
		for j := range 2 {
			x[i+2*j], x[i+2*j+1] = YMM(), YMM()
			VUNPCKLPD(y[i+2+j], y[i+j], x[i+2*j])
			VUNPCKHPD(y[i+2+j], y[i+j], x[i+2*j+1])
		}
	}
	for i := range 4 {
		low, high := YMM(), YMM()
		VPERM2F128(Imm(0x20), x[i+4], x[i], low)
		VPERM2F128(Imm(0x31), x[i+4], x[i], high)
		VMOVUPS(low, to.row(i))
		VMOVUPS(high, to.row(i+4))
	}
}

func qwords4x4(from, to lattice) {
	var x, y [4]VecVirtual
	for i := range x {
		x[i] = YMM()
		VMOVUPS(from.row(i), x[i])
	}
	for i := 0; i < 4; i += 2 {
		y[i], y[i+1] = YMM(), YMM()
		VUNPCKLPD(x[i+1], x[i], y[i])
		VUNPCKHPD(x[i+1], x[i], y[i+1])
	}
	for i := range 2 {
		low, high := YMM(), YMM()
		VPERM2F128(Imm(0x20), y[i+2], y[i], low)
		VPERM2F128(Imm(0x31), y[i+2], y[i], high)
		VMOVUPS(low, to.row(i))
		VMOVUPS(high, to.row(i+2))
	}
}

// lanesKernel parts dwords into their four bytes: four streams, each stride
// bytes behind the one before.
func lanesKernel() {
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
		VMOVDQU(z, to.row(i))
	}
	more(n, src, U32(128), dst, Imm(32))
}

// spreadKernel gives each nibble a byte, the low one of two first.
func spreadKernel() {
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

// halfBytesKernels is a book of sixteen numbers over one nibble of each byte:
// the upper one where shift is 4.
func halfBytesKernels() {
	for t := range targets {
		var v values
		var l looked
		var shift VecVirtual
		runKernel("halfBytesShift", ", book *float32, shift *uint64", "decodes n runs of chunks of 32 bytes, a nibble of each.", t, true, 32, 32,
			func(k *runs) {
				v = k.arrange(Mem{Base: Load(Param("book"), GP64())}, AllocLocal(64))
				shift = XMM()
				VMOVQ(Mem{Base: Load(Param("shift"), GP64())}, shift)
				k.declare("low", func(y VecVirtual) { VMOVDQU(bytes32(0x0F), y) })
			},
			func(k *runs) {
				o := op{"Shift", true}
				p := k.numbersOf(o)
				l = k.table16(v, true, func(x VecVirtual) { o.join(p, x) })
			},
			func(k *runs) {
				codes := YMM()
				if k.float32() {
					VMOVDQU(k.from(0), codes)
					VPERMD(codes, fours(), codes)
				} else {
					k.spreadQuads(k.from(0), codes)
				}
				VPSRLW(shift, codes, codes)
				VPAND(k.shared["low"], codes, codes)
				k.lookup(0, codes, l)
			})
	}
}
