package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Bits, codes of two bits, and ternary digits, under one float16.

// A few is codes of a block that has one scale and at most four values: one
// table, to F32 a register of them.
type few struct {
	l    tables16
	four VecVirtual
}

func (k *kernel) few(d VecVirtual, v ...float32) (f few) {
	var all [16]float32
	copy(all[:], v)
	canonical(d)
	if !k.float32() {
		f.l = k.by(k.constants(all, true), d)
		return f
	}
	f.four = Load32(Floats(all[:4]...))
	VMULPS(d, f.four, f.four)
	quieted(f.four)
	return f
}

func (f few) write(k *kernel, at int, codes VecVirtual) {
	if !k.float32() {
		k.lookup(at, codes, f.l)
		return
	}
	VMOVDQU(codes, k.spill)
	for i := range 4 {
		x := Into(YMM(), VPMOVZXBD, k.spill.Offset(quadAt[i]))
		VPERMILPS(x, f.four, x)
		VMOVUPS(x, k.to(at+8*i))
	}
}

func q1(k *kernel) {
	f := k.few(k.half(0), 1, -1)
	for i := range 4 {
		codes := k.unset(2 + 4*i)
		VPAND(Bytes32(1), codes, codes)
		f.write(k, 32*i, codes)
	}
}

func q2(k *kernel) {
	f := k.few(k.half(0), -1, 0, 1, 2)
	for i := range 2 {
		y := Into(YMM(), VPBROADCASTQ, k.from(2+8*i))
		VPSHUFB(Data([]byte{0, 0, 0, 0, 1, 1, 1, 1, 4, 4, 4, 4, 5, 5, 5, 5, 2, 2, 2, 2, 3, 3, 3, 3, 6, 6, 6, 6, 7, 7, 7, 7}), y, y)
		// Of each four equal bytes keep one pair of bits, then bring it down.
		high, codes := YMM(), YMM()
		VPSRLW(Imm(4), y, high)
		VPBLENDW(Imm(0xAA), high, y, y) // bits 0-3 of a word's bytes: pairs 0, 1 or 2, 3
		VPSRLW(Imm(2), y, high)
		VPBLENDVB(Load32(Words(0xFF00)), high, y, codes)
		VPAND(Bytes32(3), codes, codes)
		f.write(k, 32*i, codes)
	}
}

func tq2(k *kernel) {
	f := k.few(k.half(64), -1, 0, 1, 2)
	k.groupLoop(8, 4, 32, 32, func(g *groups) {
		bytes := spreads{}
		for i := range 4 {
			f.write(k, 32*i, bytes.twoBits(g, k.from(0), i))
		}
	})
}

// trit is the top base-3 digit of each byte: bytes are fractions of 3^5 in
// 256ths, so the digit is how often 256 goes into three times the byte.
func trit(t VecVirtual) VecVirtual {
	codes, flipped, m := YMM(), YMM(), YMM()
	VPXOR(Bytes32(0x80), t, flipped)
	VPCMPGTB(Bytes32(85^0x80), flipped, m)
	VPABSB(m, codes)
	VPCMPGTB(Bytes32(170^0x80), flipped, m)
	VPSUBB(m, codes, codes)
	return codes
}

// tripled moves to the next digit.
func tripled(t VecVirtual) {
	twice := Into(YMM(), VPADDB, t, t)
	VPADDB(twice, t, t)
}

func tq1(k *kernel) {
	f := k.few(k.half(52), -1, 0, 1)
	t := YMM()
	k.spreadQuads(k.from(0), t)
	for n := range 5 {
		if n > 0 {
			tripled(t)
		}
		f.write(k, 32*n, trit(t))
	}
	// Sixteen bytes of five digits: two digits a run; with the last one go
	// four bytes of four digits.
	pairs := Into(YMM(), VBROADCASTI128, k.from(32))
	upper := Into(YMM(), VPADDB, pairs, pairs)
	VPADDB(pairs, upper, upper)
	VPBLENDD(Imm(0xF0), upper, pairs, pairs)
	for n := range 2 {
		if n > 0 {
			for range 2 {
				tripled(pairs)
			}
		}
		codes := Into(YMM(), VPERMQ, Imm(quads), pairs)
		f.write(k, 160+32*n, trit(codes))
	}
	for range 2 {
		tripled(pairs)
	}
	last := YMM()
	VPBROADCASTD(k.from(48), last.AsX())
	VPMOVZXBW(last.AsX(), last)
	VPMULLW(Words(1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27), last, last)
	VPAND(Words(0xFF), last, last)
	other := YMM()
	VEXTRACTI128(Imm(1), last, other.AsX())
	VPACKUSWB(other.AsX(), last.AsX(), last.AsX())
	VINSERTI128(Imm(1), last.AsX(), pairs, pairs)
	VPERMQ(Imm(quads), pairs, pairs)
	f.write(k, 224, trit(pairs))
}
