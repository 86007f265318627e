package blocks

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// small is the blocks of 32 elements: bytes, nibbles, and nibbles with fifth bits.
var small = []layout{
	{Name: "q8_0", Kinds: []string{"Q8_0"}, Elems: 32, Bytes: 34, To: notF32, Small: q8,
		Says: []string{"Q8_0: d float16, 32 signed bytes q", "d of eight blocks made ready at once", "number = q*d"}},
	{Name: "codebook", Kinds: []string{"Q4_0=&minus8Codebook[0]", "IQ4_NL=&iq4Codebook[0]"}, Takes: ", codebook *int8", Elems: 32, Bytes: 18, To: notF32, Small: codebook,
		Says: []string{"Q4_0, IQ4_NL: d float16, 32 nibbles q", "table[q] = codebook[q]*d, for each block", "number = table[q]"}},
	{Name: "q5_0", Kinds: []string{"Q5_0"}, Elems: 32, Bytes: 22, To: notF32, Small: q5_0,
		Says: []string{"Q5_0: d float16, 32 fifth bits, 32 nibbles; q of both", "table[q] = (q-16)*d, for each block", "number = table[q]"}},
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
	return func(s ...Scales) { // two blocks share a register of what their codes come to
		z.Couple(0, 32, z.NibblesOf(2), z.NibblesOf(18+2), s[0].By(codebook, 0), s[1].By(codebook, 0))
	}
}

func q5_0(z *Kernel) func(s ...Scales) {
	codes, more := Counted(-16), Counted(0)
	z.SetIndex()
	return func(s ...Scales) {
		for i, s := range s {
			fifthBits(z, 32*i, 22*i+2, z.Table32(s.By(codes, 0), s.By(more, 0)))
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
