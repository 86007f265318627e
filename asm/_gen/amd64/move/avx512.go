// Package move is what brings codes and numbers to their places, and casts.
package move

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// AVX512 writes them in registers of 64 bytes, where that is faster: the rest waits for
// memory, not for registers.
func AVX512() {
	spread()
	fields()
}

// spread gives each nibble a byte, the low one of two first.
func spread() {
	Frame("spreadAVX512", "func(dst *byte, src *byte, n int)", "gives each of 32 nibbles a byte, n times.",
		"For 16 bytes: each four in a qword, of which eight nibbles are cut out.")
	z := &Kernel{Target: ToBF16, Dst: Load(Param("dst"), GP64()), Src: Load(Param("src"), GP64())}
	order, low := Load64(Bytes64(func(i int) int { return i % 8 * 4 })), All(0x0F0F0F0F)
	// As numbers of two bytes, the 32 bytes of a step are sixteen.
	Pairs(z, Load(Param("n"), GP64()), 16, 16, func() {
		x := Into(ZMM(), VPMOVZXDQ, z.From(0))
		VPMULTISHIFTQB(x, order, x)
		VPANDD(low, x, x)
		VMOVDQU64(x, z.To(0))
	}, func() {
		x := Into(YMM(), VPMOVZXDQ, z.From(0))
		VPMULTISHIFTQB(x, order.AsY(), x)
		VPANDD(low.AsY(), x, x)
		VMOVDQU32(x, z.To(0))
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
		x := Into(ZMM(), VMOVDQU8_Z, z.From(0), read)
		VPERMB(x, places, x)
		VPMULTISHIFTQB(x, cuts, x)
		VPANDD(keep, x, x)
		VPSUBB(less, x, x)
		return x
	}
	n := Load(Param("n"), GP64())
	two := Into(GP64(), MOVQ, bits)
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

// AVX512Casts converts between the types of numbers, 32 at a time.
func AVX512Casts() {
	if HasBF16 {
		cast(ToF16, ToBF16)
		return
	}
	for _, from := range Targets {
		for _, to := range Targets {
			if from != to && to != ToF32 {
				cast(from, to)
			}
		}
	}
	same()
}

func cast(from, to Target) {
	z := Begin("cast"+from.Name+"To", to, ", n int", "converts 32 numbers n times.",
		"For 32 numbers: to float32, a NaN as 7FC00000, then to the target.")
	n := Load(Param("n"), GP64())
	Repeat("more", n, func() {
		x := [2]VecVirtual{ZMM(), ZMM()}
		for i, x := range x {
			from.Widen(z.From(16*i*from.Width()), x)
			Quieted(x)
		}
		z.Put(0, x[0], x[1])
		z.Advance(32*from.Width(), 32)
	})
	End()
}

// same copies words but for those whose magnitude is above infinity's:
// they become the one NaN.
func same() {
	Frame("castSameAVX512", "func(dst *byte, src *byte, special *[2]uint16, n int)", "copies 32 words n times, each above the first special one as the second.",
		"For 32 words: copied; special[1] where the magnitude is above special[0].")
	z := &Kernel{Target: ToBF16, Dst: Load(Param("dst"), GP64()), Src: Load(Param("src"), GP64())}
	special := Mem{Base: Load(Param("special"), GP64())}
	infinity := Into(ZMM(), VPBROADCASTW, special)
	nan := Into(ZMM(), VPBROADCASTW, special.Offset(2))
	n := Load(Param("n"), GP64())
	magnitude := All(0x7FFF7FFF)
	Repeat("more", n, func() {
		x, m, above := Load64(z.From(0)), ZMM(), K()
		VPANDD(magnitude, x, m)
		VPCMPUW(Imm(6), infinity, m, above)
		VMOVDQU16(nan, above, x)
		VMOVDQU16(x, z.To(0))
		z.Advance(64, 32)
	})
	End()
}
