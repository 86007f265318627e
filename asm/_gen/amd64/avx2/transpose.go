package avx2

import (
	"fmt"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// sides are how many rows and columns squares have, by the bytes of a number.
var sides = map[int]int{1: 16, 2: 8, 4: 8, 8: 4}

// transposeKernels transposes squares of 16x16 bytes, 8x8 words or dwords, 4x4 qwords: as many
// columns of the source become rows, and n squares lie below each other.
func transposeKernels() {
	for _, size := range []int{1, 2, 4, 8} {
		side := sides[size]
		name := fmt.Sprintf("transpose%dAVX2", size)
		Entry(name, "transpose[%d]", size)
		Frame(name, "func(dst *byte, src *byte, dstStride int, srcStride int, n int)", fmt.Sprintf("transposes n squares of side %d, numbers of %d bytes.", side, size),
			"For each square:", "rows are unpacked with rows until registers hold columns,", "which are written as rows.")
		dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
		to := LatticeOf(dst, Load(Param("dstStride"), GP64()), side)
		from := LatticeOf(src, Load(Param("srcStride"), GP64()), side)
		n, below := Load(Param("n"), GP64()), GP64()
		MOVQ(from.Stride, below)
		SHLQ(Imm(map[int]uint64{16: 4, 8: 3, 4: 2}[side]), below)
		Repeat("square", n, func() {
			square(size, from, to)
			from.Advance(below)
			to.Advance(Imm(uint64(side * size)))
		})
		End()
	}
}

func square(size int, from, to Lattice) {
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
func bytes16x16(from, to Lattice) {
	var x [8]VecVirtual
	for i := range x {
		x[i] = Into(YMM(), VBROADCASTI128, from.Row(i))
		VINSERTI128(Imm(1), from.Row(i+8), x[i], x[i])
	}
	for i, y := range shuffled(x, YMM, VPUNPCKLBW, VPUNPCKHBW) {
		VPERMQ(Imm(quads), y, y)
		VMOVDQU(y.AsX(), to.Row(2*i))
		VEXTRACTI128(Imm(1), y, to.Row(2*i+1))
	}
}

func words8x8(from, to Lattice) {
	var x [8]VecVirtual
	for i := range x {
		x[i] = Into(XMM(), VMOVDQU, from.Row(i))
	}
	transposeWords(x, to)
}

// transposeWords writes eight rows of eight words as columns.
func transposeWords(x [8]VecVirtual, to Lattice) {
	for i, y := range shuffled(x, XMM, VPUNPCKLWD, VPUNPCKHWD) {
		VMOVDQU(y, to.Row(i))
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

func dwords8x8(from, to Lattice) {
	var x [8]VecVirtual
	for i := range x {
		x[i] = Into(YMM(), VMOVUPS, from.Row(i))
	}
	transposeDwords(x, to)
}

// transposeDwords writes eight rows of eight dwords as columns.
func transposeDwords(x [8]VecVirtual, to Lattice) {
	y := pairwise(x[:], VUNPCKLPS, VUNPCKHPS)
	for i := 0; i < 8; i += 4 {
		for j := range 2 {
			x[i+2*j], x[i+2*j+1] = YMM(), YMM()
			VUNPCKLPD(y[i+2+j], y[i+j], x[i+2*j])
			VUNPCKHPD(y[i+2+j], y[i+j], x[i+2*j+1])
		}
	}
	writeHalves(x[:], to)
}

// pairwise unpacks each two registers that follow each other.
func pairwise(x []VecVirtual, low, high func(...Op)) (y []VecVirtual) {
	for i := 0; i < len(x); i += 2 {
		y = append(y, Into(YMM(), low, x[i+1], x[i]), Into(YMM(), high, x[i+1], x[i]))
	}
	return y
}

// writeHalves writes the halves of registers, the second of which stand in their second half.
func writeHalves(x []VecVirtual, to Lattice) {
	n := len(x) / 2
	for i := range n {
		low := Into(YMM(), VPERM2F128, Imm(0x20), x[i+n], x[i])
		high := Into(YMM(), VPERM2F128, Imm(0x31), x[i+n], x[i])
		VMOVUPS(low, to.Row(i))
		VMOVUPS(high, to.Row(i+n))
	}
}

func qwords4x4(from, to Lattice) {
	var x [4]VecVirtual
	for i := range x {
		x[i] = Into(YMM(), VMOVUPS, from.Row(i))
	}
	writeHalves(pairwise(x[:], VUNPCKLPD, VUNPCKHPD), to)
}
