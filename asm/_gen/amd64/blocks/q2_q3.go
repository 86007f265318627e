package blocks

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Q2_K and Q3_K: codes of two bits and three under sixteen scales. Mask is the bits of a
// code, in words above the numbers of scales.

// columns is sixteen scales under each of a number of values, two values a
// register: word 16*v + i is value v under scale i.
func columns(z *Kernel, values int, number func(v int) VecVirtual) (out Table) {
	for v := 0; v < values; v += 2 {
		out = append(out, z.Table32(number(v), number(v+1))[0])
	}
	return out
}

// twoBits is run r of 32 two-bit codes, the layout of the K types, times 16 and
// with the numbers of their two scales below, to words.
func twoBits(z *Kernel, mask VecVirtual, off, r int) VecVirtual {
	x := z.Moved(z.Codes(z.From(off+r/4*32)), r%4*2-4)[0]
	VPTERNLOGD(Imm(AndOr), Load64(Words64(func(i int) int { return 2*r + i/16 })), mask, x)
	return x
}

// plainPairs is run r of 32 two-bit codes, to dwords.
func plainPairs(z *Kernel, mask VecVirtual, off, r int) Codes {
	c := z.Moved(z.Codes(z.From(off+r/4*32)), r%4*2)
	for _, x := range c {
		VPANDD(mask, x, x)
	}
	return c
}

func q2K(z *Kernel) func() {
	mask := All(0x00300030)
	if !z.Words() {
		mask = All(3)
	}
	return func() {
		Comment("Scales and minima.")
		d, m := Unsigned(z.From(0)), ZMM()
		VPSRLD(Imm(4), d, m)
		VPANDD(All(15), d, d)
		Times(d, Half(z.From(80)))
		Times(m, Half(z.From(82)))
		if !z.Words() {
			p := minima{Keep(z, d), Keep(z, m)}
			for r := range 8 {
				c := plainPairs(z, mask, 16, r)
				ToFloats(c...)
				z.Put(32*r, p.join(c[0], 2*r), p.join(c[1], 2*r+1))
			}
			return
		}
		t := columns(z, 4, func(v int) VecVirtual {
			x := Into(ZMM(), VMULPS_BCST, Floats(float32(v)), d)
			VSUBPS(m, x, x)
			return x
		})
		for r := range 8 {
			x := twoBits(z, mask, 16, r)
			VPERMI2W(t[1], t[0], x)
			VMOVDQU64(x, z.To(32*r))
		}
	}
}

// q3Scales is sixteen 6-bit scales, less 32, times d.
func q3Scales(z *Kernel) VecVirtual {
	tail := Sixteen(z.From(94)) // the scales begin at its byte 2
	own := Lanes(tail, func(i int) int { return 2 + i%8 }, func(i int) int { return i / 8 * 4 })
	top := Into(ZMM(), VPERMB, tail, Load64(Bytes64(func(i int) int { return 10 + i/4%4 })))
	VPSRLVD(Dwords64(func(i int) int { return 4 + i/4*2 }), top, top) // four equal bytes
	VPANDD(All(15), own, own)
	VPTERNLOGD(Imm(AndOr), own, All(0x30), top)
	VPSUBD(All(32), top, top)
	Times(top, Half(z.From(108)))
	return top
}

func q3K(z *Kernel) func() {
	mask := All(0x00030003)
	values := Values([16]float32{-4, -3, -2, -1, 0, 1, 2, 3, -4, -3, -2, -1, 0, 1, 2, 3})
	return func() {
		Comment("Scales.")
		d := q3Scales(z)
		var t Table
		for r := range 8 {
			if r%2 == 0 {
				t = eights(z, d, values, 2*r)
			}
			x, set := z.Moved(z.Codes(z.From(32+r/4*32)), r%4*2)[0], K()
			VPTERNLOGD(Imm(AndOr), Load64(Words64(func(i int) int { return r%2*16 + i/16*8 })), mask, x)
			bit(z, set, r)
			VPADDW(Words64(func(int) int { return 4 }), x, set, x)
			z.Lookup(32*r, Codes{x}, t)
		}
	}
}

// eights is the eight values, -4 to 3, under each of four scales from first on.
func eights(z *Kernel, d, values VecVirtual, first int) Table {
	number := func(first int) VecVirtual {
		x := Into(ZMM(), VPERMD, d, DwordsOf(func(i int) int { return first + i/8 }))
		VMULPS(values, x, x)
		return x
	}
	return z.Table32(number(first), number(first+2))
}

// bit is which of the 32 bytes at the front have bit r set.
func bit(z *Kernel, k OpmaskVirtual, r int) {
	y := Into(YMM(), VMOVDQU64, z.From(0))
	VPTESTMB(Bytes32(1<<r), y, k)
}
