// Package float8 is small floats of eight bits in runs under a scale.
package float8

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// AVX512 writes what decodes codes of eight bits to BF16 under scales that make all
// products normal: it stops at the first run of another scale. What a product
// rounds to depends on the mantissa alone, so those of sixteen codes are rounded
// once per run. Of them come two tables of 32 words: one by the lower bits of a
// code, to which the exponent is added, and one for codes whose exponent has all
// bits clear or all set: they are subnormal, infinite or NaN. Its index is the
// lower bits of the exponent, the mantissa and the sign.
//
// The form is what the formats differ by: sixteen numbers; for each table the
// places of its bytes among those of the numbers; what is added to the words of
// the second one; then a few dwords.
func AVX512() {
	Frame("float8NormalAVX512", "func(dst *byte, src *byte, a *float32, form *byte, chunks int, n int) int", "decodes runs of chunks of 32 codes, at most n, up to the first scale that it does not serve, and returns how many.",
		"For each run, if its scale a is ordinary: what sixteen mantissas come to, rounded,",
		"as two tables: by the lower bits of a code; and for what is subnormal, infinite or NaN.",
		"For each chunk: number = table[q] + the exponent of q, or the other table's; its sign.")
	stop := NewLabel("stop")
	z := &Kernel{Target: ToBF16, Dst: Load(Param("dst"), GP64()), Src: Load(Param("src"), GP64())}
	a, chunks := Load(Param("a"), GP64()), GP64()
	form := Mem{Base: Load(Param("form"), GP64())}
	const singles = 4 * 64
	numbers, added := Load64(form), Load64(form.Offset(192))
	places := [2]VecVirtual{Load64(form.Offset(64)), Load64(form.Offset(128))}
	single := func(i int) VecVirtual {
		return Into(ZMM(), VPBROADCASTD, form.Offset(singles+4*i))
	}
	shift, exponent, upper := single(0), single(1), single(2) // upper is all bits of it but the lowest
	numeric := K()                                            // the bytes of what is not NaN, whose word is what is added
	KMOVQ(form.Offset(singles+12), numeric)
	sign, least := All(0x80008000), All(0x00800080)
	twice := Load64(Bytes64(func(i int) int { return i / 2 }))
	left := Load(Param("n"), GP64())

	Repeat("run", left, func() {
		bits := Into(GP32(), MOVL, Mem{Base: a})
		ANDL(U32(0x7F800000), bits)
		SUBL(form.Offset(singles+20), bits)
		CMPL(bits, form.Offset(singles+24))
		JHI(stop.Ref())
		Comment("The tables of a run.")
		x := Into(ZMM(), VMULPS_BCST, Mem{Base: a}, numbers)
		odd := Into(K(), VPTESTMD_BCST, Dwords(0x10000), x)
		VPADDD_BCST(Dwords(RoundPlain), x, x)
		VPADDD_BCST(Dwords(1), x, odd, x)
		tables := [2]VecVirtual{ZMM(), ZMM()}
		VPERMB(x, places[0], tables[0])
		VPERMB_Z(x, places[1], numeric, tables[1])
		VPADDW(added, tables[1], tables[1])
		Load(Param("chunks"), chunks)

		Repeat("chunk", chunks, func() {
			codes, e, w, at := ZMM(), ZMM(), ZMM(), ZMM()
			VMOVDQU32(z.From(0), codes.AsY())
			VPERMB(codes, twice, codes) // both bytes of a word
			VPERMW(tables[0], codes, w)
			VPSLLVD(shift, codes, e)
			VPANDD(exponent, e, e)
			VPADDW(e, w, w)
			VPTERNLOGD(Imm(0x78), sign, codes, w) // w ^ codes & sign
			VPADDW(least, e, e)
			special := Into(K(), VPTESTNMW, upper, e)
			VPSRLW(Imm(7), codes, at)
			VPERMW(tables[1], at, special, w)
			VMOVDQU16(w, z.To(0))
			z.Advance(32, 32)
		})
		ADDQ(Imm(4), a)
	})

	stop.Here()
	done := Load(Param("n"), GP64())
	SUBQ(left, done)
	Store(done, ReturnIndex(0))
	End()
}
