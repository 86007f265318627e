// Package ternary is TQ1_0, TQ2_0, Q1_0 and Q2_0: codes of two values, three or four.
package ternary

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/blocks"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
)

// AVX512Layouts is those blocks in registers of 64 bytes.
var AVX512Layouts = []Layout{
	{Name: "tq1_0", Kinds: []string{"TQ1_0"}, Elems: 256, Bytes: 54, To: NotF32, Scales: Scaled{At: 52, Exponents: OneHalf}, Block: tq1,
		Says: []string{"TQ1_0: 256 digits of base 3, five a byte or four, d float16", "table[q] = (q-1)*d", "number = table[q]"}},
	{Name: "tq2_0", Kinds: []string{"TQ2_0"}, Elems: 256, Bytes: 66, To: Targets, Scales: Scaled{At: 64, Exponents: OneHalf}, Block: tq2,
		Says: []string{"TQ2_0: 256 codes q of 2 bits, d float16", "table[q] = (q-1)*d", "number = table[q]"}},
	{Name: "q1_0", Kinds: []string{"Q1_0"}, Elems: 128, Bytes: 18, To: Targets, Scales: Scaled{At: 0, Exponents: OneHalf}, Block: q1,
		Says: []string{"Q1_0: d float16, 128 bits", "number = d where the bit is set, else -d"}},
	{Name: "q2_0", Kinds: []string{"Q2_0"}, Elems: 64, Bytes: 18, To: Targets, Scales: Scaled{At: 0, Exponents: OneHalf}, Block: q2,
		Says: []string{"Q2_0: d float16, 64 codes q of 2 bits", "table[q] = (q-1)*d", "number = table[q]"}},
}

// palette is a table of few values, again and again, under the float16 at off.
func palette(z *Kernel, off int, v ...float32) Table {
	d := Half(z.From(off))
	var again [16]float32
	for i := range again {
		again[i] = v[i%len(v)]
	}
	VMULPS(Floats64(again), d, d)
	return z.Table16(d)
}

// q1 is a scale or its negative. To F16 it stays as it is.
func q1(z *Kernel) func() {
	if !z.Words() {
		return func() { q1Floats(z) }
	}
	return func() {
		up, down := ZMM(), ZMM()
		if z.Narrow {
			VPBROADCASTW(z.From(0), up)
		} else {
			up = palette(z, 0, 1)[0]
		}
		VPXORD_BCST(Dwords(0x80008000), up, down)
		for i := range 4 {
			k := Into(K(), KMOVD, z.From(2+4*i))
			x := Into(ZMM(), VPBLENDMW, up, down, k)
			VMOVDQU64(x, z.To(32*i))
		}
	}
}

// q1Floats is that to F32.
func q1Floats(z *Kernel) {
	up, down := Half(z.From(0)), ZMM()
	VPXORD_BCST(Dwords(0x80000000), up, down)
	for i := range 8 {
		k := Into(K(), KMOVW, z.From(2+2*i))
		x := Into(ZMM(), VPBLENDMD, up, down, k)
		VMOVDQU32(x, z.To(16*i))
	}
}

// tq2 is 32 bytes of four codes each, twice.
func tq2(z *Kernel) func() {
	return func() {
		t := palette(z, 64, -1, 0, 1, 2)
		for r := range 8 {
			z.Lookup(32*r, z.Moved(z.Codes(z.From(r/4*32)), r%4*2), t)
		}
	}
}

func q2(z *Kernel) func() {
	return func() {
		t := palette(z, 0, -1, 0, 1, 2)
		for i := range 2 {
			x := Into(ZMM(), VPBROADCASTQ, z.From(2+8*i))
			z.Lookup(32*i, z.Picked(x, func(e int) int { return e / 4 }, func(e int) int { return e % 4 * 2 }), t)
		}
	}
}

// trits is the base-3 digits of 32 codes: bytes are fractions of 3^5 in 256ths,
// and the n-th digit is how often 256 goes into three times 3^n times the byte.
func trits(z *Kernel, c Codes, n func(e int) int) (out Codes) {
	power := func(e int) int { return [5]int{1, 3, 9, 27, 81}[n(e)] << 8 }
	for i, x := range c {
		y := ZMM()
		if !z.Words() {
			VPMULLW(Dwords64(func(j int) int { return power(16*i + j) }), x, y)
			VPMULHUW(Dwords64(func(int) int { return 3 }), y, y)
		} else {
			VPMULLW(Words64(power), x, y)
			VPMULHUW(Words64(func(int) int { return 3 }), y, y)
		}
		out = append(out, y)
	}
	return out
}

func tq1(z *Kernel) func() {
	return func() {
		Comment("160 elements, five digits a byte.")
		t := palette(z, 52, -1, 0, 1, 2)
		c := z.Codes(z.From(0))
		for n := range 5 {
			z.Lookup(32*n, trits(z, c, func(int) int { return n }), t)
		}
		Comment("Sixteen bytes of five digits, and four of four behind them.")
		rest := Into(ZMM(), VBROADCASTI64X4, z.From(22))
		none := func(int) int { return 0 }
		c = z.Picked(rest, func(e int) int { return 10 + e%16 }, none)
		z.Lookup(160, trits(z, c, func(e int) int { return e / 16 }), t)
		z.Lookup(192, trits(z, c, func(e int) int { return 2 + e/16 }), t)
		c = z.Picked(rest, func(e int) int {
			if e < 16 {
				return 10 + e
			}
			return 26 + e%4
		}, none)
		z.Lookup(224, trits(z, c, func(e int) int {
			if e < 16 {
				return 4
			}
			return e / 4 % 4
		}), t)
	}
}
