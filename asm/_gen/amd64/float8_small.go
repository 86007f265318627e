package main

import (
	"bytes"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A small is a run to BF16 whose products may be subnormal. Of two numbers of 16
// bits the larger one is the product's bits.
//
// One is what a table by mantissa and an addition make of a scale that is 2^64
// times as large, less 2^64: right where the product is normal. Below that it
// counts less units than there are, or is negative. Codes of exponent 0 have one
// product each, so that for them the table is right everywhere.
//
// The other counts units of subnormal numbers, 2^-133: a number of 15 bits by
// mantissa, the product's, is shifted down by a depth that the exponent says and
// rounded, ties up. It is zero where the depth is below 7, where all products are
// normal, and above 15, where all are less than half a unit; and anything up to 255
// where the depth is below 0 and the other number is above that.
//
// But the product is rounded twice, ties to even: to float32, whose units are 2^16
// times finer, and to BF16. That differs where a product is so near to the middle of
// two units that the first rounding makes it that. The bits below the middle's one
// are then all alike, so that it occurs at one depth, which the lowest bit of the
// middle tells: see [small.counted].
type small struct {
	f      float8
	words  looked     // twice the first number, of all mantissas, so that the upper byte is an exponent
	counts looked     // the second one's 15 bits
	powers [2]Mem     // 2^(15-depth)
	place  VecVirtual // what exponents are more to be places of powers
	turn   Mem        // the scale's sign
	codes  VecVirtual // of the chunk that comes
}

// signs is bytes without and with a sign.
var signs = data(append(make([]byte, 32), bytes.Repeat([]byte{0x80}, 32)...))

func (f float8) newSmall(k *runs) *small {
	s := &small{f: f, place: YMM(), turn: Mem{Base: GP64()}, codes: YMM()}
	k.spreadQuads(k.from(0), s.codes)
	negative := GP32()
	MOVL(Mem{Base: k.a}, negative)
	SHRL(Imm(31), negative)
	SHLL(Imm(5), negative)
	LEAQ(signs, s.turn.Base)
	ADDQ(negative.As64(), s.turn.Base)
	k.raise()
	step := 1 << f.man
	times, half, scale := load(floats(pow2(smallShift))), YMM(), k.magnitude()
	k.multiplied(scale, times)
	VPSUBD(dwords(1<<23), times, half)
	units, lanes := make([]uint32, 8), make([]uint32, 8) // of exponent 0
	for i := range step / 2 {
		units[i], lanes[i] = littleBits, 0xFFFFFFFF
	}
	VPAND(dwords(lanes...), half, half)
	s.counted(times)
	first := f.first(k.kernel)
	x := [2]VecVirtual{load(first.a), load(first.b)}
	for _, x := range x {
		p := YMM()
		VMULPS(times, x, p)
		VFMADD213PS(dwords(units...), half, x)
		VPMAXUD(p, x, x)
		k.nearest(x)
	}
	w := pack(x[0], x[1])
	VPADDW(w, w, w)
	s.words = split(w)
	exponent := YMM()
	VPSRLD(Imm(23), times, exponent)
	VPSHUFB(bytes32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), exponent, exponent)
	VPSUBB(bytes32(byte(f.bias+55)), exponent, s.place)
	low, high := make([]byte, 16), make([]byte, 16)
	for i := range 8 {
		low[i] = 1 << i
	}
	high[8] = 1
	s.powers = [2]Mem{bytes32(low...), bytes32(high...)}
	return s
}

// counted makes the 15 bits of each mantissa m from the 24 of the scale: their
// product is of 27 or 28 bits, of which those above the lowest are kept. How far the
// first rounding moves numbers to a multiple of a power of two, that is half a unit
// of 2^16 parts, is added where the bit above is set and the tie goes up, and is
// taken off, and one more, where not. So what is near enough to the multiple becomes
// it, or one less; others do not change.
func (s *small) counted(times VecVirtual) {
	f, step := s.f, uint32(1)<<s.f.man
	cut := uint64(10 + f.man)
	var mantissas []uint32
	for i := range uint32(8) {
		mantissas = append(mantissas, step+i%step)
	}
	q, whole, lowest, clear, zero := YMM(), YMM(), YMM(), YMM(), YMM()
	VPAND(dwords(0x007FFFFF), times, q)
	VPOR(dwords(0x00800000), q, q)
	VPMULLD(dwords(mantissas...), q, q)
	VPADDD(dwords(1<<(cut-1)), q, whole)
	VPSRLD(Imm(cut), whole, whole)
	VPXOR(zero, zero, zero)
	VPSUBD(whole, zero, lowest)
	VPAND(whole, lowest, lowest)
	VPADDD(lowest, lowest, clear)
	VPAND(whole, clear, clear)
	VPCMPEQD(zero, clear, clear)
	VPSRLD(Imm(16-cut), lowest, lowest)
	VPXOR(clear, lowest, lowest)
	VPADDD(lowest, q, q)
	VPSRLD(Imm(cut), q, q)
	// To words, all eight or, of E5M2, all four in each half.
	VPACKUSDW(q, q, q)
	if step == 8 {
		VPERMQ(Imm(0x88), q, q)
	}
	for b := range byte(2) {
		order := bytes.Repeat([]byte{0x80}, 16)
		for i := range byte(step) {
			order[byte(step)+i] = 2*i + b
		}
		part := YMM()
		VPSHUFB(bytes32(order...), q, part)
		s.counts = append(s.counts, part)
	}
}

// write writes 32 elements.
func (s *small) write(k *runs) {
	f, step := s.f, byte(1)<<s.f.man
	codes, mag, low, high, next := YMM(), YMM(), YMM(), YMM(), GP64()
	VMOVDQA(s.codes, codes)
	LEAQ(k.from(32), next)
	CMPQ(k.chunks, Imm(1))
	CMOVQEQ(k.src, next)
	k.spreadQuads(Mem{Base: next}, s.codes)
	VPAND(bytes32(0x7F), codes, mag)
	VPAND(bytes32(0x80), codes, high)
	VPXOR(s.turn, high, high)
	nan := f.nan(k, codes, mag)
	VPAND(bytes32(0xC0), nan, low)
	if f.infinite {
		inf, t := equal(mag, 0x7C), YMM()
		VPAND(bytes32(0x7F), inf, t)
		VPOR(t, high, high)
		VPAND(bytes32(0x80), inf, t)
		VPOR(t, low, low)
		VPANDN(mag, inf, mag)
	}
	VPBLENDVB(nan, bytes32(0x7F), high, high)
	if f.bias == 7 || f.infinite { // in the others it is that of zero
		VPANDN(mag, nan, mag)
	}
	exp, index, place := YMM(), YMM(), YMM()
	VPSUBUSB(bytes32(step), mag, exp)
	VPAND(bytes32(0x80-step), exp, exp)
	VPSUBB(exp, mag, index)
	VPSRLW(Imm(uint64(f.man)), exp, exp)
	VPADDB(s.place, exp, place)
	find := func(low, high, at VecVirtual) looked {
		found := looked{YMM(), YMM()}
		VPSHUFB(at, low, found[0])
		VPSHUFB(at, high, found[1])
		return found
	}
	words := find(s.words[0], s.words[1], index)
	VPADDB(exp, words[1], words[1])
	counts := find(s.counts[0], s.counts[1], index)
	powers := find(load(s.powers[0]), load(s.powers[1]), place)
	for i, join := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW} {
		w, n, p, o := YMM(), YMM(), YMM(), YMM()
		join(counts[1], counts[0], n)
		join(powers[1], powers[0], p)
		VPMULHRSW(p, n, n)
		join(words[1], words[0], w)
		VPSRAW(Imm(1), w, w)
		VPMAXSW(n, w, w)
		join(high, low, o)
		VPOR(o, w, w)
		VMOVDQU(w, k.to(16*i))
	}
}
