package float8

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/lookup"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// long is long runs of small floats to BF16. Each run gets a table of what
// all codes without a sign come to, by as many products, which have the sign; NaN has
// none. Codes then keep it or clear it. Where products are not all normal they are made
// enlarged.
//
// The table of a format is those 128 numbers in the order in which words come
// together, then the least scale, the range of scales, and a code of NaN.
func long() {
	Frame("float8LongAVX512", "func(dst *byte, src *byte, a *float32, table *byte, chunks int, n int)", "decodes n runs of chunks of 32 codes.",
		"For each run: table[q] = q*a for 128 codes without a sign, rounded;",
		"if not all are normal, made enlarged.",
		"For 64 codes: both bytes of table[q], with its sign.")
	z := &Kernel{Target: ToBF16, Dst: Load(Param("dst"), GP64()), Src: Load(Param("src"), GP64())}
	a, table := Load(Param("a"), GP64()), Mem{Base: Load(Param("table"), GP64())}
	const singles = 4 * 128
	run, codes, exact := NewLabel("run"), NewLabel("codes"), NewLabel("exact")
	l := &products{table: table, interleave: newInterleaved(), lower: All(0x00FF00FF)}
	for half := range 2 {
		l.low[half], l.upper[half] = ZMM(), ZMM()
	}
	found := newFound(table.Offset(singles + 8))
	order := Load64(Bytes64(func(i int) int { return int(uint64(i/8%2*4+i/16) >> (i % 8 * 8)) }))
	nanUpper := All(0x7F7F7F7F)
	left := Load(Param("n"), GP64())

	run.Here()
	Comment("The scale: within the range; with the sign; and its sign, for codes.")
	bits := Into(GP32(), MOVL, Mem{Base: a})
	exponent := Into(GP32(), MOVL, bits)
	ANDL(U32(0x7F800000), exponent)
	SUBL(table.Offset(singles), exponent)
	sign := Into(GP32(), MOVL, bits)
	SARL(Imm(31), sign)
	ANDL(U32(0x80808080), sign)
	negate := Into(ZMM(), VPBROADCASTD, sign)
	ORL(U32(0x80000000), bits)
	times := Into(ZMM(), VPBROADCASTD, bits)
	CMPL(exponent, table.Offset(singles+4))
	JHI(exact.Ref())
	l.planes(func(m Mem, x VecVirtual) { VMULPS(m, times, x) })

	codes.Here()
	Comment("The codes of a run.")
	chunks := Load(Param("chunks"), GP64())
	write := func(n int) func() {
		return func() {
			codes := lookup.Ordered(n, z.From(0), order, VPERMQ)
			p, q := found.find(codes, l.low, l.upper, nanUpper, AndOrNot, negate)
			for i, unpack := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW}[:n/32] {
				x := ZMM()
				unpack(q, p, x)
				VMOVDQU64(x, z.To(32*i))
			}
		}
	}
	Pairs(z, chunks, 32, 32, write(64), write(32))
	ADDQ(Imm(4), a)
	DECQ(left)
	JNZ(run.Ref())
	End()

	exact.Here()
	Comment("The table under a scale that is not ordinary.")
	p := NewProduct(times)
	l.planes(func(m Mem, x VecVirtual) {
		VMOVUPS(m, x)
		p.OfAny(x)
		Quieted(x)
	})
	JMP(codes.Ref())
}

// A products is the table of a run: lower bytes and upper ones of 128 words.
type products struct {
	table      Mem
	interleave interleaved
	lower      VecVirtual
	upper, low halfPlane
}

func (l *products) planes(product func(m Mem, x VecVirtual)) {
	for half := range 2 {
		w := [2]VecVirtual{}
		for i := range w { // of even codes, and of odd ones
			x := [2]VecVirtual{ZMM(), ZMM()}
			for j, x := range x {
				product(l.table.Offset(256*half+128*i+64*j), x)
			}
			w[i] = l.interleave.words(x[0], x[1])
		}
		VPSLLW(Imm(8), w[1], l.low[half])
		VPSRLW(Imm(8), w[0], l.upper[half])
		VPTERNLOGD(Imm(OrAnd), l.lower, w[0], l.low[half])
		VPTERNLOGD(Imm(OrAndNot), l.lower, w[1], l.upper[half])
	}
}

// An interleaved is what rounding to words takes whose registers take negates.
type interleaved struct{ tops, ones, odd VecVirtual }

func newInterleaved() interleaved {
	return interleaved{All(0x80008000), All(0x00010001), All(0xFFFF0000)}
}

// words rounds as [Kernel.Put] does: a becomes the even words, b the odd ones.
func (c *interleaved) words(a, b VecVirtual) VecVirtual {
	w := Into(ZMM(), VPSRLD, Imm(16), a)
	rest := Into(ZMM(), VPSLLD, Imm(16), b)
	VPTERNLOGD(Imm(OrAnd), c.odd, b, w)
	VPTERNLOGD(Imm(OrAndNot), c.odd, a, rest)
	VPTERNLOGD(Imm(OrAnd), c.ones, w, rest)
	up := Into(K(), VPCMPUW, Imm(6), c.tops, rest)
	VPADDW(c.ones, w, up, w)
	return w
}
