package blocks

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Small is the blocks of 32 elements: bytes, nibbles, and nibbles with fifth bits.
var Small = []Layout{
	{Name: "q8", Kinds: []string{"Q8_0=34", "Q8_1=36"}, Takes: ", size int", Elems: 32, To: NotF32, BF16: true, Halves: 1, Small: q8,
		Says: []string{"Q8_0, Q8_1: d float16, 32 signed bytes q at the end of a block", "number = q*d"}},
	{Name: "codebook", Kinds: []string{"Q4_0=&minus8Codebook[0]", "IQ4_NL=&iq4Codebook[0]"}, Takes: ", codebook *int8", Elems: 32, Bytes: 18, To: NotBF16, Halves: 1, Small: codebook,
		Says: []string{"Q4_0, IQ4_NL: d float16, 32 nibbles q", "table[q] = codebook[q]*d, for each block", "number = table[q]"}},
	{Name: "q4_1", Kinds: []string{"Q4_1"}, Elems: 32, Bytes: 20, To: Targets, Halves: 2, Small: q4_1,
		Says: []string{"Q4_1: d, m float16, 32 nibbles q", "table[q] = q*d + m, for each block", "number = table[q]"}},
	{Name: "q5_0", Kinds: []string{"Q5_0"}, Elems: 32, Bytes: 22, To: Targets, BF16: true, Halves: 1, Small: q5_0,
		Says: []string{"Q5_0: d float16, 32 fifth bits, 32 nibbles; q of both", "table[q] = (q-16)*d, for each block", "number = table[q]"}},
	{Name: "q5_1", Kinds: []string{"Q5_1"}, Elems: 32, Bytes: 24, To: Targets, BF16: true, Halves: 2, Small: q5_1,
		Says: []string{"Q5_1: d, m float16, 32 fifth bits, 32 nibbles; q of both", "table[q] = q*d + m, for each block", "number = table[q]"}},
}

func q8(z *Kernel) func(s ...Scales) {
	return func(s ...Scales) {
		for i, s := range s {
			codes := Mem{Base: z.Src, Index: z.Size, Scale: uint8(i + 1), Disp: -32}
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
			fiveBits(z, 32*i, bytes*i+bits, t)
		}
	}
}

// fiveBits writes 32 elements: fifth bits at off, and nibbles behind them.
func fiveBits(z *Kernel, at, off int, t Table) {
	c, k := z.NibblesOf(off+4), K()
	KMOVD(z.From(off), k)
	if z.Words() {
		x := z.Index(c[0], 0)
		VPADDW(Words64(func(int) int { return 0x2020 }), x, k, x)
		z.Placed(at, x, t)
		return
	}
	for i, x := range c {
		VPANDD_BCST(Dwords(15), x, x)
		if i == 1 {
			KSHIFTRD(Imm(16), k, k)
		}
		VPADDD_BCST(Dwords(16), x, k, x)
	}
	z.Lookup(at, c, t)
}

// FP4 is sixteen codes of E2M1 under a scale of which there are 256. A
// list has what they come to under each as words: the low bytes of sixteen, then
// the high ones. No product is computed.
var FP4 = []Layout{
	{Name: "mxfp4", Kinds: []string{"MXFP4=&mxfp4Halves[0][0][0]"}, Takes: ", rows *byte", Elems: 32, Bytes: 17, To: []Target{ToF16}, Block: mxfp4,
		Says: []string{"MXFP4: e E8M0, 32 nibbles q", "number = rows[e][q]"}},
	{Name: "nvfp4", Kinds: []string{"NVFP4=&nvfp4Halves[0][0][0]"}, Takes: ", rows *byte", Elems: 64, Bytes: 36, To: []Target{ToF16}, Block: nvfp4,
		Says: []string{"NVFP4: 4 scales e E4M3 without a sign, 64 nibbles q", "number = rows[e][q], a scale for 16 of them"}},
}

// fp4 keeps what an index takes: of each of 32 elements the byte that has its code, and
// how far up in it.
type fp4 struct {
	*Kernel
	rows                      Register
	low, places, shift, parts VecVirtual
}

func newFP4(z *Kernel, at, shift func(e int) int) *fp4 {
	return &fp4{z, Load(Param("rows"), GP64()), All(0x0F0F0F0F),
		Load64(Bytes64(func(i int) int { return at(i / 2) })),
		Load64(Dwords64(func(i int) int { return shift(2 * i) })),
		Load64(Words64(func(i int) int { return 0x1000 + i/16*0x2020 }))}
}

// row is where the list has a row for the scale at off.
func (f *fp4) row(off int) Mem {
	i := Into(GP64(), MOVBQZX, f.From(off))
	SHLQ(Imm(5), i)
	return Mem{Base: f.rows, Index: i, Scale: 1}
}

// write writes 32 elements under two rows, sixteen words each, or one that is
// there twice.
func (f *fp4) write(at int, codes, rows VecVirtual) {
	x := Into(ZMM(), VPERMB, codes, f.places)
	VPSRLVD(f.shift, x, x)
	VPTERNLOGD(Imm(AndOr), f.parts, f.low, x)
	f.Placed(at, x, Table{rows})
}

func mxfp4(z *Kernel) func() {
	f := newFP4(z, func(e int) int { return e % 16 }, func(e int) int { return e / 16 * 4 })
	return func() {
		codes, rows := Sixteen(f.From(1)), ZMM()
		VBROADCASTI64X4(f.row(0), rows)
		f.write(0, codes, rows)
	}
}

func nvfp4(z *Kernel) func() {
	f := newFP4(z, func(e int) int { return e/16*8 + e%8 }, func(e int) int { return e / 8 % 2 * 4 })
	return func() {
		for s := 0; s < 4; s += 2 {
			codes, rows := Sixteen(f.From(4+8*s)), ZMM()
			VMOVDQU32(f.row(s), rows.AsY())
			VINSERTI64X4(Imm(1), f.row(s+1), rows, rows)
			f.write(16*s, codes, rows)
		}
	}
}
