package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A looked is what the sixteen values of a code come to under one scale. For
// BF16 it is the rounded products, their low and their high bytes; for F32 the
// products themselves, eight and eight. Elements are then looked up, and no
// arithmetic is done on them.
type looked struct{ a, b VecVirtual }

// A values is sixteen numbers in the two orders that tables are built in: even
// and odd ones for BF16, halves for F32.
type values struct{ a, b Mem }

// constants is the sixteen values of a type, negative where products are
// turned.
func (k *kernel) constants(v [16]float32, turned bool) values {
	var a, b []float32
	for i, f := range v {
		if turned {
			f = -f
		}
		if k.wide && i < 8 || !k.wide && i%2 == 0 {
			a = append(a, f)
		} else {
			b = append(b, f)
		}
	}
	return values{floats(a...), floats(b...)}
}

// table16 builds a table; join turns values into numbers, of the other sign
// where turned.
func (k *kernel) table16(v values, turned bool, join func(x VecVirtual)) looked {
	a, b := load(v.a), load(v.b)
	for _, x := range [2]VecVirtual{a, b} {
		join(x)
		if k.wide {
			if turned {
				VXORPS(k.minus, x, x)
			}
			quieted(x)
		} else {
			k.nearest(x)
		}
	}
	if k.wide {
		return looked{a, b}
	}
	w := pack(a, b)
	if !turned {
		unsigned(w)
	}
	return split(w)
}

// split parts sixteen words: their low bytes in both halves of a register, and
// their high bytes.
func split(w VecVirtual) looked {
	VPSHUFB(bytes16(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15), w, w)
	l := looked{YMM(), YMM()}
	VPERMQ(Imm(0x88), w, l.a)
	VPERMQ(Imm(0xDD), w, l.b)
	return l
}

func bytes16(p ...byte) Mem { return bytes32(p...) }

// lookup writes 32 elements by their codes.
func (k *kernel) lookup(at int, codes VecVirtual, l looked) {
	if k.wide {
		VMOVDQU(codes, k.spill)
		for i := range 4 {
			k.lookupWide(at+8*i, k.spill.Offset(quadAt[i]), l)
		}
		return
	}
	low, high, out := YMM(), YMM(), YMM()
	VPSHUFB(codes, l.a, low)
	VPSHUFB(codes, l.b, high)
	VPUNPCKLBW(high, low, out)
	VMOVDQU(out, k.to(at))
	VPUNPCKHBW(high, low, out)
	VMOVDQU(out, k.to(at+16))
}

// lookupTwo is lookup where the first and the second sixteen have tables of
// their own.
func (k *kernel) lookupTwo(at int, codes VecVirtual, first, second looked) {
	if k.wide {
		VMOVDQU(codes, k.spill)
		for i := range 4 {
			k.lookupWide(at+8*i, k.spill.Offset(quadAt[i]), [2]looked{first, second}[i/2])
		}
		return
	}
	for i, l := range [2]looked{first, second} {
		low, high, out := YMM(), YMM(), YMM()
		VPSHUFB(codes, l.a, low)
		VPSHUFB(codes, l.b, high)
		if i == 0 {
			VPUNPCKLBW(high, low, out)
		} else {
			VPUNPCKHBW(high, low, out)
		}
		VMOVDQU(out, k.to(at+16*i))
	}
}

// lookupWide writes eight elements.
func (k *kernel) lookupWide(at int, codes Mem, l looked) {
	index, high, x := YMM(), YMM(), YMM()
	VPMOVZXBD(codes, index)
	VPERMPS(l.a, index, x)
	VPERMPS(l.b, index, high)
	VPSLLD(Imm(28), index, index)
	VBLENDVPS(index, high, x, x)
	VMOVUPS(x, k.to(at))
}

// by is a table of values times a scale: the scale has its sign, a NaN among
// scales is FFC00000.
func (k *kernel) by(v values, scale VecVirtual) looked {
	return k.table16(v, true, func(x VecVirtual) { VMULPS(scale, x, x) })
}

// canonical makes every NaN among scales FFC00000.
func canonical(s VecVirtual) {
	nan := YMM()
	VCMPPS(Imm(3), s, s, nan)
	VBLENDVPS(nan, dwords(0xFFC00000), s, s)
}
