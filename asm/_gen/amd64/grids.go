package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// table is the address of a variable of the package.
func table(name string) Register {
	r := GP64()
	LEAQ(variable(name), r)
	return r
}

// rows8 brings four rows of eight bytes into a register, in the order of codes.
func rows8(base Register, index [4]Register) VecVirtual {
	at := func(i int) Mem { return Mem{Base: base, Index: index[i], Scale: 8} }
	low, high, y := XMM(), XMM(), YMM()
	VMOVQ(at(0), low)
	VMOVHPS(at(2), low, low)
	VMOVQ(at(1), high)
	VMOVHPS(at(3), high, high)
	VINSERTI128(Imm(1), high, low.AsY(), y)
	return y
}

// fields takes four fields of a register: those of width bits at step.
func fields(word Register, first, step uint64, mask uint32) (out [4]Register) {
	for i := range 4 {
		r := GP64()
		MOVQ(word, r)
		if shift := first + uint64(i)*step; shift > 0 {
			SHRQ(Imm(shift), r)
		}
		and32(r.As32(), mask)
		out[i] = r
	}
	return out
}

// loaded takes four bytes of memory.
func (k *kernel) loaded(off int) (out [4]Register) {
	for i := range 4 {
		r := GP64()
		MOVBQZX(k.from(off+i), r)
		out[i] = r
	}
	return out
}

// dByScale keeps -d*(half+s)*factor for eight scales in dwords. Without a half
// the scale is d*(1+2s).
func (k *kernel) dByScale(s VecVirtual, d VecVirtual, half, factor float32) {
	if half == 0 {
		VPADDD(s, s, s)
		VPADDD(dwords(1), s, s)
		times(s, d)
	} else {
		VCVTDQ2PS(s, s)
		VADDPS(floats(half), s, s)
		VMULPS(d, s, s)
	}
	if factor != 1 {
		VMULPS(floats(factor), s, s)
	}
	k.negated(s)
}

// nibbleScales is 4-bit scales, eight in each word.
func (k *kernel) nibbleScales(off, n int, d VecVirtual, half, factor float32) scales {
	s := k.scales(n)
	for i := 0; i < n; i += 8 {
		word, y := GP64(), YMM()
		MOVL(k.from(off+i/2), word.As32())
		VPMOVZXBD(spread(word, 0x0F0F0F0F0F0F0F0F), y)
		k.dByScale(y, d, half, factor)
		s.keep(i, y)
	}
	return s
}

func iq2XXS(k *kernel) {
	d, s := k.half(0), k.scales(8)
	a, b := YMM(), YMM()
	VMOVUPS(k.from(2), a)
	VMOVUPS(k.from(34), b)
	VSHUFPS(Imm(0xDD), b, a, a)
	VPERMQ(Imm(quads), a, a)
	VPSRLD(Imm(28), a, a)
	k.dByScale(a, d, 0.5, 0.25)
	s.keep(0, a)
	grid, signs := table("iq2xxsGrid"), table("evenSignBytes")
	ahead(8, func(i int) VecVirtual {
		word := GP64()
		MOVL(k.from(6+8*i), word.As32())
		codes := rows8(grid, k.loaded(2+8*i))
		VPSIGNB(rows8(signs, fields(word, 0, 7, 127)), codes, codes)
		return codes
	}, func(i int, codes VecVirtual) {
		of := s.of(i)
		k.scaled(32*i, codes, of, of)
	})
}

func iq2XS(k *kernel) {
	s := k.nibbleScales(66, 16, k.half(0), 0.5, 0.25)
	grid, signs := table("iq2xsGrid"), table("evenSignBytes")
	ahead(8, func(i int) VecVirtual {
		word := GP64()
		MOVQ(k.from(2+8*i), word)
		codes := rows8(grid, fields(word, 0, 16, 511))
		VPSIGNB(rows8(signs, fields(word, 9, 16, 127)), codes, codes)
		return codes
	}, func(i int, codes VecVirtual) { k.scaled(32*i, codes, s.of(2*i), s.of(2*i+1)) })
}

// withHigh adds to four indices the fields of a byte, shifted to bit 8.
func (k *kernel) withHigh(index [4]Register, off, first, width int) {
	mask := uint32(1<<width-1) << 8
	for i := range 4 {
		r := GP32()
		MOVBLZX(k.from(off), r)
		if shift := 8 - first - i*width; shift >= 0 {
			SHLL(Imm(uint64(shift)), r)
		}
		and32(r, mask)
		ORL(r, index[i].(GPVirtual).As32())
	}
}

func iq2S(k *kernel) {
	s := k.nibbleScales(74, 16, k.half(0), 0.5, 0.25)
	grid, signs := table("iq2sGrid"), table("signBytes")
	ahead(8, func(i int) VecVirtual {
		index := k.loaded(2 + 4*i)
		k.withHigh(index, 66+i, 0, 2)
		codes := rows8(grid, index)
		VPSIGNB(rows8(signs, k.loaded(34+4*i)), codes, codes)
		return codes
	}, func(i int, codes VecVirtual) { k.scaled(32*i, codes, s.of(2*i), s.of(2*i+1)) })
}

// rows4 copies the rows of four bytes of a block to memory in the order of
// codes, long before they are read: a load over several young stores waits.
func (k *kernel) rows4(base Register, index func(i int) Register) Mem {
	at := AllocLocal(256)
	for i := range 64 {
		r := GP32()
		MOVL(Mem{Base: base, Index: index(i), Scale: 4}, r)
		MOVL(r, at.Offset(i/8*32+quadAt[i%8/2]+i%2*4))
	}
	return at
}

func iq3XXS(k *kernel) {
	d, s := k.half(0), k.scales(8)
	words := YMM()
	VPSRLD(Imm(28), load(k.from(66)), words)
	k.dByScale(words, d, 0.5, 0.5)
	s.keep(0, words)
	codesAt := k.rows4(table("iq3xxsGrid"), func(i int) Register {
		r := GP64()
		MOVBQZX(k.from(2+i), r)
		return r
	})
	signs := table("evenSignBytes")
	ahead(8, func(i int) VecVirtual {
		word, codes := GP64(), YMM()
		MOVL(k.from(66+4*i), word.As32())
		VMOVDQU(codesAt.Offset(32*i), codes)
		VPSIGNB(rows8(signs, fields(word, 0, 7, 127)), codes, codes)
		return codes
	}, func(i int, codes VecVirtual) {
		of := s.of(i)
		k.scaled(32*i, codes, of, of)
	})
}

func iq3S(k *kernel) {
	s := k.nibbleScales(106, 8, k.half(0), 0, 1)
	codesAt := k.rows4(table("iq3sGrid"), func(i int) Register {
		r, bit := GP64(), GP32()
		MOVBQZX(k.from(2+i), r)
		MOVBLZX(k.from(66+i/8), bit)
		SHLL(Imm(uint64(8-i%8)), bit)
		and32(bit, 0x100)
		ORL(bit, r.As32())
		return r
	})
	signs := table("signBytes")
	ahead(8, func(i int) VecVirtual {
		codes := YMM()
		VMOVDQU(codesAt.Offset(32*i), codes)
		VPSIGNB(rows8(signs, k.loaded(74+4*i)), codes, codes)
		return codes
	}, func(i int, codes VecVirtual) {
		of := s.of(i)
		k.scaled(32*i, codes, of, of)
	})
}

// The values of the ternary grids are shifted by an eighth up or down: times
// eight they are whole, and an eighth of the scale is exact.
func shifted(codes, eighths VecVirtual) {
	VPADDB(codes, codes, codes)
	VPADDB(codes, codes, codes)
	VPADDB(codes, codes, codes)
	VPADDB(eighths, codes, codes)
}

func iq1S(k *kernel) {
	d, s := k.half(0), k.scales(8)
	y := YMM()
	VPMOVZXWD(k.from(34), y)
	VPSRLD(Imm(12), y, y)
	VPAND(dwords(7), y, y)
	k.dByScale(y, d, 0, 0.125)
	s.keep(0, y)
	grid := table("iq1Grid")
	ahead(8, func(i int) VecVirtual {
		word := GP64()
		MOVWQZX(k.from(34+2*i), word)
		index := k.loaded(2 + 4*i)
		for l, h := range fields(word, 0, 3, 7) {
			SHLL(Imm(8), h.(GPVirtual).As32())
			ORL(h.(GPVirtual).As32(), index[l].(GPVirtual).As32())
		}
		codes := rows8(grid, index)
		down, x, eighths := GP64(), XMM(), YMM()
		MOVWQSX(k.from(34+2*i), down)
		SARQ(Imm(63), down)
		ORQ(Imm(1), down) // -1 or 1, and so are its bytes but the upper ones
		VMOVD(down.As32(), x)
		VPBROADCASTB(x, eighths)
		shifted(codes, eighths)
		return codes
	}, func(i int, codes VecVirtual) {
		of := s.of(i)
		k.scaled(32*i, codes, of, of)
	})
}

func iq1M(k *kernel) {
	all, r, mask := GP64(), GP64(), GP64()
	MOVQ(k.from(48), all)
	MOVQ(U64(0xF000F000F000F000), mask)
	PEXTQ(mask, all, r)
	x, d := XMM(), YMM()
	VMOVD(r.As32(), x)
	VPBROADCASTW(x, x)
	VCVTPH2PS(x, d)
	MOVQ(U64(0x0FFF0FFF0FFF0FFF), mask)
	PEXTQ(mask, all, r)
	s := k.scales(16)
	for i := range 2 {
		y := YMM()
		VPMOVZXBD(spread(r, 0x0707070707070707), y)
		k.dByScale(y, d, 0, 0.125)
		s.keep(8*i, y)
		if i == 0 {
			SHRQ(Imm(24), r)
		}
	}
	grid, steps := table("iq1Grid"), table("eighthBytes")
	ahead(8, func(i int) VecVirtual {
		index, word := k.loaded(4*i), GP64()
		MOVWQZX(k.from(32+2*i), word)
		for l, h := range fields(word, 0, 4, 7) {
			SHLL(Imm(8), h.(GPVirtual).As32())
			ORL(h.(GPVirtual).As32(), index[l].(GPVirtual).As32())
		}
		codes := rows8(grid, index)
		shifted(codes, rows8(steps, fields(word, 3, 4, 1)))
		return codes
	}, func(i int, codes VecVirtual) { k.scaled(32*i, codes, s.of(2*i), s.of(2*i+1)) })
}
