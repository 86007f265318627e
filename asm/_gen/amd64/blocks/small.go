package blocks

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// small is the blocks of 32 elements: bytes, nibbles, and nibbles with fifth bits.
var small = []layout{
	{Name: "q8_0", Kinds: []string{"Q8_0"}, Elems: 32, Bytes: 34, To: notF32, Halves: 1, Small: q8,
		Says: []string{"Q8_0: d float16, 32 signed bytes q", "d of eight blocks made ready at once", "number = q*d"}},
	{Name: "codebook", Kinds: []string{"Q4_0=&minus8Codebook[0]", "IQ4_NL=&iq4Codebook[0]"}, Takes: ", codebook *int8", Elems: 32, Bytes: 18, To: notF32, Halves: 1, Small: codebook,
		Says: []string{"Q4_0, IQ4_NL: d float16, 32 nibbles q", "table[q] = codebook[q]*d, for each block", "number = table[q]"}},
	{Name: "q4_1", Kinds: []string{"Q4_1"}, Elems: 32, Bytes: 20, To: notF32, Halves: 2, Small: q4_1,
		Says: []string{"Q4_1: d, m float16, 32 nibbles q", "table[q] = q*d + m, for each block", "number = table[q]"}},
	{Name: "q5_0", Kinds: []string{"Q5_0"}, Elems: 32, Bytes: 22, To: notF32, Halves: 1, Small: q5_0,
		Says: []string{"Q5_0: d float16, 32 fifth bits, 32 nibbles; q of both", "table[q] = (q-16)*d, for each block", "number = table[q]"}},
	{Name: "q5_1", Kinds: []string{"Q5_1"}, Elems: 32, Bytes: 24, To: notF32, Halves: 2, Small: q5_1,
		Says: []string{"Q5_1: d, m float16, 32 fifth bits, 32 nibbles; q of both", "table[q] = q*d + m, for each block", "number = table[q]"}},
}

func q8(z *Kernel) func(s ...Scales) {
	return func(s ...Scales) {
		for i, s := range s {
			codes := z.From(34*i + 2)
			a, b := Signed(codes), Signed(codes.Offset(16))
			ToFloats(a, b)
			z.Put(32*i, s.By(a, 0), s.By(b, 0))
		}
	}
}

func codebook(z *Kernel) func(s ...Scales) {
	codebook := Signed(Mem{Base: Load(Param("codebook"), GP64())})
	ToFloats(codebook)
	z.SetIndex()
	return func(s ...Scales) { nibbles(z, 2, 18, s, func(s Scales) VecVirtual { return s.By(codebook, 0) }) }
}

func q4_1(z *Kernel) func(s ...Scales) {
	z.SetIndex()
	codes := Counted(0)
	return func(s ...Scales) { nibbles(z, 4, 20, s, func(s Scales) VecVirtual { return affine(s, codes) }) }
}

// nibbles is two blocks of nibbles at off, which share a register of what their codes
// come to.
func nibbles(z *Kernel, off, bytes int, s []Scales, numbers func(Scales) VecVirtual) {
	z.Couple(0, 32, z.NibblesOf(off), z.NibblesOf(off+bytes), numbers(s[0]), numbers(s[1]))
}

// affine is x times the first scale and the second added. A float16 times a code is
// exact, so that it is rounded once anyway.
func affine(s Scales, x VecVirtual) VecVirtual {
	y := Into(ZMM(), VPBROADCASTD, s.At.Offset(4))
	VFMADD231PS_BCST(s.At, x, y)
	return y
}

func q5_0(z *Kernel) func(s ...Scales) {
	return fifths(z, -16, 22, 2, func(s Scales, x VecVirtual) VecVirtual { return s.By(x, 0) })
}

func q5_1(z *Kernel) func(s ...Scales) { return fifths(z, 0, 24, 4, affine) }

// fifths is blocks with fifth bits in four bytes at bits and nibbles behind them. Codes
// count from the first number.
func fifths(z *Kernel, first, bytes, bits int, number func(s Scales, x VecVirtual) VecVirtual) func(s ...Scales) {
	codes, more := Counted(first), Counted(first+16)
	z.SetIndex()
	return func(s ...Scales) {
		for i, s := range s {
			t := z.Table32(number(s, codes), number(s, more))
			fifthBits(z, 32*i, bytes*i+bits, t)
		}
	}
}

// fifthBits writes 32 elements: fifth bits at off, and nibbles behind them.
func fifthBits(z *Kernel, at, off int, t Table) {
	c, k := z.NibblesOf(off+4), K()
	KMOVD(z.From(off), k)
	x := z.Index(c[0], 0)
	VPADDW(Words64(func(int) int { return 0x2020 }), x, k, x)
	z.Placed(at, x, t)
}
