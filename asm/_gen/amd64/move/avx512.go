// Package move is what brings codes and numbers to their places, and casts.
package move

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// AVX512 writes them in registers of 64 bytes. Transposes have none: they wait for memory, not
// for registers.
func AVX512() {
	lanes()
	spread()
	fields()
	swap()
}

// lanes parts dwords into their four bytes: four streams, each stride
// bytes behind the one before.
func lanes() {
	Frame("lanesAVX512", "func(dst *byte, src *byte, stride int, n int)", "parts 32 dwords n times into four streams of their bytes.",
		"For 32 dwords: byte i of each goes to stream i, by two lookups of 128 bytes.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	to := LatticeOf(dst, Load(Param("stride"), GP64()), 4)
	n := Load(Param("n"), GP64())
	var orders [2]VecVirtual // of the bytes of 32 dwords, two streams each
	for i := range orders {
		orders[i] = Load64(Bytes64(func(j int) int { return j%32*4 + 2*i + j/32 }))
	}
	more := NewLabel("more")
	more.Here()
	a, b := Load64(Mem{Base: src}), Load64(Mem{Base: src, Disp: 64})
	for i, order := range orders {
		x := ZMM()
		VMOVDQA64(order, x)
		VPERMI2B(b, a, x)
		VMOVDQU32(x.AsY(), to.Row(2*i))
		VEXTRACTI64X4(Imm(1), x, to.Row(2*i+1))
	}
	ADDQ(U32(128), src)
	ADDQ(Imm(32), dst)
	DECQ(n)
	JNZ(more.Ref())
	End()
}

// spread gives each nibble a byte, the low one of two first.
func spread() {
	z := newMover("spreadAVX512", "", "gives each of 32 nibbles a byte, n times.",
		"For 16 bytes: each four in a qword, of which eight nibbles are cut out.")
	order, low := Load64(Bytes64(func(i int) int { return i % 8 * 4 })), All(0x0F0F0F0F)
	z.pairs(16, func(x VecVirtual, wide bool) {
		if wide {
			VPMOVZXDQ(z.From(0), x)
			VPMULTISHIFTQB(x, order, x)
			VPANDD(low, x, x)
			return
		}
		VPMOVZXDQ(z.From(0), x.AsY())
		VPMULTISHIFTQB(x.AsY(), order.AsY(), x.AsY())
		VPANDD(low.AsY(), x.AsY(), x.AsY())
	})
}

// swap puts the bytes of sixteen in another order.
func swap() {
	z := newMover("swapAVX512", ", order *byte", "puts each sixteen of 32 bytes in an order, n times.",
		"For 16 bytes: byte i = src[order[i]].")
	order := ZMM()
	VBROADCASTI32X4(Mem{Base: Load(Param("order"), GP64())}, order)
	z.pairs(32, func(x VecVirtual, wide bool) {
		if wide {
			VMOVDQU64(z.From(0), x)
			VPSHUFB(order, x, x)
			return
		}
		VMOVDQU32(z.From(0), x.AsY())
		VPSHUFB(order.AsY(), x.AsY(), x.AsY())
	})
}

// A mover writes 32 bytes a step, two steps together.
type mover struct{ *Kernel }

func newMover(name, params, doc string, says ...string) mover {
	Frame(name, "func(dst *byte, src *byte"+params+", n int)", doc,
		says...)
	return mover{&Kernel{Target: ToBF16, Dst: Load(Param("dst"), GP64()), Src: Load(Param("src"), GP64())}}
}

// pairs ends the kernel: step makes what is written of so many bytes, or twice
// as many.
func (z mover) pairs(in int, step func(x VecVirtual, wide bool)) {
	// As numbers, 32 bytes are sixteen.
	Pairs(z.Kernel, Load(Param("n"), GP64()), in, 16, func() {
		x := ZMM()
		step(x, true)
		VMOVDQU64(x, z.To(0))
	}, func() {
		x := ZMM()
		step(x, false)
		VMOVDQU32(x.AsY(), z.To(0))
	})
	End()
}

// fields gives fields of a few bits a byte each. Eight fields of b bits
// take b bytes: a qword gets them and what follows, and each byte of it is cut
// out at a multiple of b bits. No more is read than the fields of a step and
// eight bytes from where the last eight of them begin.
func fields() {
	Frame("fieldsAVX512", "func(dst *byte, src *byte, tables *byte, step int, shift *uint64, n int)", "unpacks 32 fields of step bits n times. The 33rd byte of tables is taken off each.",
		"For 32 fields of b bits: eight take b bytes; a qword gets those, each byte of it is cut out.", "byte = field - tables[32]")
	z := &Kernel{Target: ToBF16, Dst: Load(Param("dst"), GP64()), Src: Load(Param("src"), GP64())}
	tables, bits := Load(Param("tables"), GP64()), GP64()
	Load(Param("step"), bits)
	less, each, keep := ZMM(), ZMM(), ZMM()
	VPBROADCASTB(Mem{Base: tables, Disp: 32}, less)
	VPBROADCASTW(bits.As32(), each)
	places, cuts := ZMM(), ZMM()
	VPMULLW(Bytes64(func(i int) int { return i / 8 }), each, places)
	VPADDB(Bytes64(func(i int) int { return i % 8 }), places, places)
	VPMULLW(Bytes64(func(i int) int { return i % 8 }), each, cuts)
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
		VMOVDQU8_Z(z.From(0), read, x)
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
	pair, odd, done := NewLabel("pair"), NewLabel("odd"), NewLabel("done")
	JCS(odd.Ref())
	pair.Here()
	VMOVDQU64(step(eight), z.To(0))
	ADDQ(two, z.Src)
	ADDQ(Imm(64), z.Dst)
	SUBQ(Imm(2), n)
	JCC(pair.Ref())
	odd.Here()
	ADDQ(Imm(2), n)
	JZ(done.Ref())
	VMOVDQU32(step(four).AsY(), z.To(0))
	done.Here()
	End()
}
