package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Order of codes. A register of 32 codes holds quads of eight elements in the
// order 0, 2 | 1, 3, so that the unpacking instructions, which work within the
// two halves, give the elements in their order. (The immediate of VPERMQ.)
const quads = 0xD8

// A kernel writes one target from blocks or chunks of codes.
type kernel struct {
	wide     bool // F32, else BF16
	dst, src Register
	one, add VecVirtual // rounding to BF16; add may also turn the sign
	minus    Mem
	spill    Mem // 32 codes on their way to dwords
	shared   map[string]VecVirtual
}

// width is the bytes of one number written.
func (k *kernel) width() int {
	if k.wide {
		return 4
	}
	return 2
}

func (k *kernel) from(off int) Mem       { return Mem{Base: k.src, Disp: off} }
func (k *kernel) to(elem int) Mem        { return Mem{Base: k.dst, Disp: elem * k.width()} }
func (k *kernel) toByte(elem, b int) Mem { return Mem{Base: k.dst, Disp: elem*k.width() + b} }

// Scales are kept negative and a NaN among them as FFC00000. A product of a
// negated scale has the other sign, and every NaN of it, also that of infinity
// times zero, is FFC00000 on this processor. Adding 80007FFF in place of 7FFF
// then rounds, and turns the sign of numbers and NaN alike.
const (
	roundTurn  = 0x80007FFF
	roundPlain = 0x00007FFF
)

func (k *kernel) begin(turn bool) {
	if k.wide {
		k.minus = dwords(0x80000000)
		k.spill = AllocLocal(32)
		return
	}
	k.one = load(dwords(1))
	if turn {
		k.add = load(dwords(roundTurn))
	} else {
		k.add = load(dwords(roundPlain))
	}
}

// negated turns the sign of scales and makes every NaN FFC00000.
func negated(s VecVirtual) {
	nan := YMM()
	VXORPS(dwords(0x80000000), s, s)
	VCMPPS(Imm(3), s, s, nan)
	VBLENDVPS(nan, dwords(0xFFC00000), s, s)
}

// quieted makes every NaN 7FC00000.
func quieted(s VecVirtual) {
	nan := YMM()
	VCMPPS(Imm(3), s, s, nan)
	VBLENDVPS(nan, dwords(0x7FC00000), s, s)
}

// nearest adds what rounds x in its upper half, ties to even.
func (k *kernel) nearest(x VecVirtual) {
	t := YMM()
	VPSRLD(Imm(16), x, t)
	VPAND(k.one, t, t)
	VPADDD(k.add, x, x)
	VPADDD(t, x, x)
}

// pack joins the upper halves of the even and the odd elements.
func pack(even, odd VecVirtual) VecVirtual {
	VPSRLD(Imm(16), even, even)
	VPBLENDW(Imm(0xAA), odd, even, even)
	return even
}

// scaled writes 32 elements: signed codes times a negated scale; the scales of
// the first and the second sixteen may differ.
func (k *kernel) scaled(at int, codes, first, second VecVirtual) {
	if k.wide {
		VMOVDQU(codes, k.spill)
		for i, s := range [4]VecVirtual{first, first, second, second} {
			x := YMM()
			VPMOVSXBD(k.spill.Offset(quadAt[i]), x)
			VCVTDQ2PS(x, x)
			VMULPS(s, x, x)
			VXORPS(k.minus, x, x)
			VMOVUPS(x, k.to(at+8*i))
		}
		return
	}
	for i, s := range [2]VecVirtual{first, second} {
		w := YMM()
		if i == 0 {
			VPUNPCKLBW(codes, codes, w)
		} else {
			VPUNPCKHBW(codes, codes, w)
		}
		even, odd := YMM(), YMM()
		VPSLLD(Imm(16), w, even)
		VPSRAD(Imm(24), even, even)
		VPSRAD(Imm(24), w, odd)
		for _, x := range [2]VecVirtual{even, odd} {
			VCVTDQ2PS(x, x)
			VMULPS(s, x, x)
			k.nearest(x)
		}
		VMOVDQU(pack(even, odd), k.to(at+16*i))
	}
}

// quadAt is where the i-th eight codes lie in a register.
var quadAt = [4]int{0, 16, 8, 24}

// A pair is the scale and the second number of sixteen elements.
type pair struct{ d, m VecVirtual }

// affine writes 32 elements of unsigned codes: q*d - m, or q*d + m. The numbers
// are as they are, a NaN among them 7FC00000.
func (k *kernel) affine(at int, codes VecVirtual, first, second pair, plus bool) {
	join := func(x VecVirtual, p pair) {
		VCVTDQ2PS(x, x)
		VMULPS(p.d, x, x)
		if plus {
			VADDPS(p.m, x, x)
		} else {
			VSUBPS(p.m, x, x)
		}
	}
	if k.wide {
		VMOVDQU(codes, k.spill)
		for i, p := range [4]pair{first, first, second, second} {
			x := YMM()
			VPMOVZXBD(k.spill.Offset(quadAt[i]), x)
			join(x, p)
			quieted(x)
			VMOVUPS(x, k.to(at+8*i))
		}
		return
	}
	zero := k.constant("zero", func(y VecVirtual) { VPXOR(y, y, y) })
	for i, p := range [2]pair{first, second} {
		w := YMM()
		if i == 0 {
			VPUNPCKLBW(zero, codes, w)
		} else {
			VPUNPCKHBW(zero, codes, w)
		}
		even, odd := YMM(), YMM()
		VPSRLD(Imm(16), w, odd)
		VPBLENDW(Imm(0xAA), zero, w, even)
		for _, x := range [2]VecVirtual{even, odd} {
			join(x, p)
			k.nearest(x)
		}
		w = pack(even, odd)
		unsigned(w)
		VMOVDQU(w, k.to(at+16*i))
	}
}

// unsigned takes the sign off words that are NaN: all of them are 7FC0 or FFC0.
func unsigned(w VecVirtual) {
	nan := YMM()
	VPCMPEQW(words(0xFFC0), w, nan)
	VPSLLW(Imm(15), nan, nan)
	VPXOR(nan, w, w)
}

// constant is a register that is set once before the loop of blocks.
func (k *kernel) constant(name string, set func(VecVirtual)) VecVirtual {
	y, ok := k.shared[name]
	if !ok {
		panic("constant " + name + " was not declared")
	}
	return y
}

// declare sets constants before the loop.
func (k *kernel) declare(name string, set func(VecVirtual)) {
	y := YMM()
	set(y)
	k.shared[name] = y
}
