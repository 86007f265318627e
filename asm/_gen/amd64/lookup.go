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
type looked []VecVirtual

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
	if k.narrow {
		high := YMM()
		VCVTPS2PH(Imm(0), a, a.AsX())
		VCVTPS2PH(Imm(0), b, high.AsX())
		VINSERTI128(Imm(1), high.AsX(), a, a)
		return split(a)
	}
	if k.wide {
		return k.planes(a, b)
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
	VPERMQ(Imm(0x88), w, l[0])
	VPERMQ(Imm(0xDD), w, l[1])
	return l
}

// planes parts twice eight dwords into their four bytes, each sixteen in both
// halves of a register.
func (k *kernel) planes(a, b VecVirtual) (l looked) {
	order := bytes32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)
	VPSHUFB(order, a, a)
	VPSHUFB(order, b, b)
	for _, join := range []func(...Op){VPUNPCKLDQ, VPUNPCKHDQ} {
		p, first := YMM(), YMM()
		join(b, a, p)
		VPERMD(p, load(dwords(0, 4, 1, 5)), first)
		VPERMD(p, load(dwords(2, 6, 3, 7)), p)
		l = append(l, first, p)
	}
	return l
}

func bytes16(p ...byte) Mem { return bytes32(p...) }

// lookup writes 32 elements by their codes.
func (k *kernel) lookup(at int, codes VecVirtual, l looked) { k.lookupTwo(at, codes, l, l) }

// lookupTwo is lookup where the first and the second sixteen have tables of
// their own.
func (k *kernel) lookupTwo(at int, codes VecVirtual, first, second looked) {
	found := looked{}
	for i := range first {
		found = append(found, YMM())
		VPSHUFB(codes, first[i], found[i])
	}
	for half, l := range [2]looked{first, second} {
		if half == 1 && &l[0] != &first[0] {
			for i := range l {
				VPSHUFB(codes, l[i], found[i])
			}
		}
		var words []VecVirtual
		for i := 0; i < len(found); i += 2 {
			w := YMM()
			if half == 0 {
				VPUNPCKLBW(found[i+1], found[i], w)
			} else {
				VPUNPCKHBW(found[i+1], found[i], w)
			}
			words = append(words, w)
		}
		if len(words) == 1 {
			VMOVDQU(words[0], k.to(at+16*half))
			continue
		}
		// Within the halves of a register lie eight elements each.
		low, high := YMM(), YMM()
		VPUNPCKLWD(words[1], words[0], low)
		VPUNPCKHWD(words[1], words[0], high)
		for i, x := range [2]VecVirtual{low, high} {
			VMOVDQU(x.AsX(), k.to(at+16*half+4*i))
			VEXTRACTI128(Imm(1), x, k.to(at+16*half+8+4*i))
		}
	}
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
