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
	dst, src := Between("limitAVX2", ", step int, n int", "writes 32 words n times, from step bytes each. It measures memory.",
		"For 32 bytes:", "word i = byte i;", "plain stores.")
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
	dst, src := Between("lanesAVX2", ", stride int, n int", "parts 32 dwords n times into four streams of their bytes.",
		"For 32 dwords:", "bytes i of four dwords are brought together, then those of eight and of 32;", "stream i = bytes i.")
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
	dst, src := Between("spreadAVX2", ", n int", "gives each of 32 nibbles a byte, n times.",
		"For 16 bytes q:", "byte 2i = q[i] & 15,", "byte 2i+1 = q[i] >> 4.")
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
	dst, src := Between("swapAVX2", ", order *byte, n int", "puts each sixteen of 32 bytes in an order, n times.",
		"For 32 bytes,", "each sixteen of them:", "byte i = src[order[i]].")
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
	dst, src := Between("fieldsAVX2", ", tables *byte, step int, shift *uint64, n int", "unpacks 32 fields n times: tables are the bytes of eight fields, their factors, and what is taken off each.",
		"For 32 fields of b bits, of which eight take b bytes:", "word = the two bytes in which the field lies;",
		"byte = (word*factor >> shift) - less, the factor moving its field to the top.")
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
	dst, src := Between("pickAVX2", ", shift *uint64, mask *uint32, n int", "takes a field of each of 32 words n times, as bytes.",
		"For 32 words:", "byte = word >> shift & mask,", "packed twice and put in order.")
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

// castKernels converts between the types of numbers, 32 at a time.
func castKernels() {
	for _, f := range Targets {
		for _, t := range Targets {
			name := "cast" + f.Name + "To" + t.Name + "AVX2"
			Entry(name, "cast[%s][%s]", f.Name, t.Name)
			dst, src := Between(name, ", n int", "converts 32 numbers n times.",
				"For 32 numbers:", "x = src as float32, a NaN as 7FC00000;", "dst = x, rounded to "+t.Name+".")
			n := Load(Param("n"), GP64())
			k := &kernel{Ends: Ends{Target: t, Dst: dst, Src: src}, add: Load32(Dwords(roundPlain)), up: Load32(Dwords(roundPlain + 1))}
			rounds(n, src, U32(32*f.Width()), dst, U32(32*t.Width()), func() {
				for i := 0; i < 4; i += 2 {
					out := [2]VecVirtual{YMM(), YMM()}
					for j, x := range out {
						f.Widen(k.From((8*i+8*j)*f.Width()), x)
						quieted(x)
					}
					k.store(out, 8*i)
				}
			})
		}
	}
}

// store writes sixteen numbers in their order, of which a NaN is 7FC00000.
func (k *kernel) store(x [2]VecVirtual, at int) {
	if !k.Wide {
		for _, y := range x {
			k.nearest(y)
			VPSRLD(Imm(16), y, y)
		}
		VPACKUSDW(x[1], x[0], x[0])
		VPERMQ(Imm(quads), x[0], x[0])
		VMOVDQU(x[0], k.To(at))
		return
	}
	for i, y := range x {
		k.store8(y, at+8*i)
	}
}

// specialKernels count, in 64 bytes at a time, numbers whose magnitude is above
// the largest one, and those whose magnitude is above infinity, which tells types
// of a size apart. Lanes of 16 bits hold 16,383 rounds of two.
func specialKernels() {
	for _, t := range []struct {
		size                         string
		types                        []string
		magnitude                    Mem
		repeat, add, less, isGreater func(...Op)
	}{
		{"32", []string{"F32"}, Dwords(0x7FFFFFFF), VPBROADCASTD, VPADDD, VPSUBD, VPCMPGTD},
		{"16", []string{"BF16", "F16"}, Words(0x7FFF), VPBROADCASTW, VPADDW, VPSUBW, VPCMPGTW},
	} {
		name := "special" + t.size + "AVX2"
		for _, of := range t.types {
			Entry(fmt.Sprintf("with(%s, infinities[%s])", name, of), "special[%s]", of)
		}
		Frame(name, "func(counts *uint32, src *byte, infinity uint32, n int)", "counts in n times 64 bytes: eight sums of numbers that are not finite, eight of NaN.",
			"For each number:", "sums[0] += magnitude > the largest number;", "sums[1] += magnitude > infinity.")
		counts, src := Load(Param("counts"), GP64()), Load(Param("src"), GP64())
		magnitude := Load32(t.magnitude)
		limits := [2]VecVirtual{YMM(), YMM()} // the largest number, and infinity
		VMOVD(Load(Param("infinity"), GP32()), limits[1].AsX())
		t.repeat(limits[1].AsX(), limits[1])
		t.add(Dwords(0xFFFFFFFF), limits[1], limits[0])
		n := Load(Param("n"), GP64())
		var sums [2][2]VecVirtual
		for i := range sums {
			for j := range sums[i] {
				sums[i][j] = YMM()
				VPXOR(sums[i][j], sums[i][j], sums[i][j])
			}
		}
		Repeat("more", n, func() {
			for i := range 2 {
				x := Into(YMM(), VPAND, Mem{Base: src, Disp: 32 * i}, magnitude)
				for j := range 2 {
					above := YMM()
					t.isGreater(limits[j], x, above)
					t.less(above, sums[i][j], sums[i][j])
				}
			}
			ADDQ(Imm(64), src)
		})
		for j := range 2 {
			t.add(sums[0][j], sums[1][j], sums[0][j])
			if t.size == "16" {
				VPMADDWD(Words(1), sums[0][j], sums[0][j])
			}
			VMOVDQU(sums[0][j], Mem{Base: counts, Disp: 32 * j})
		}
		End()
	}
}

// sides are how many rows and columns squares have, by the bytes of a number.
var sides = map[int]int{1: 16, 2: 8, 4: 8, 8: 4}

// transposeKernels transposes squares of 16x16 bytes, 8x8 words or dwords, 4x4 qwords: as many
// columns of the source become rows, and n squares lie below each other.
func transposeKernels() {
	for _, size := range []int{1, 2, 4, 8} {
		side := sides[size]
		name := fmt.Sprintf("transpose%dAVX2", size)
		Entry(name, "transpose[%d]", size)
		dst, src := Between(name, ", dstStride int, srcStride int, n int", fmt.Sprintf("transposes n squares of side %d, numbers of %d bytes.", side, size),
			"For each square:", "rows are unpacked with rows until registers hold columns,", "which are written as rows.")
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
		transposeWords([8]VecVirtual(rowsOf(from, 8, XMM, func(m, x Op) { VMOVDQU(m, x) })), to)
	case 4:
		transposeDwords([8]VecVirtual(rowsOf(from, 8, YMM, func(m, x Op) { VMOVUPS(m, x) })), to)
	case 8:
		writeHalves(pairwise(rowsOf(from, 4, YMM, func(m, x Op) { VMOVUPS(m, x) }), VUNPCKLPD, VUNPCKHPD), to)
	}
}

// rowsOf is n rows.
func rowsOf(from Lattice, n int, register func() VecVirtual, load func(m, x Op)) (x []VecVirtual) {
	for i := range n {
		x = append(x, register())
		load(from.Row(i), x[i])
	}
	return x
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

// writeHalves writes registers as rows: the low halves of i and i+n are row i, the high halves row i+n.
func writeHalves(x []VecVirtual, to Lattice) {
	n := len(x) / 2
	for i := range n {
		low := Into(YMM(), VPERM2F128, Imm(0x20), x[i+n], x[i])
		high := Into(YMM(), VPERM2F128, Imm(0x31), x[i+n], x[i])
		VMOVUPS(low, to.Row(i))
		VMOVUPS(high, to.Row(i+n))
	}
}
