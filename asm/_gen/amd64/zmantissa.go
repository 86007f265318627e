package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// zmantissaKernel is codes of eight bits to BF16, of formats without infinity,
// under scales that make all products normal: it stops at the first run of
// another scale. What a product rounds to depends on the mantissa alone, so
// those of sixteen codes are rounded once per run. Of them come two tables of
// 32, one for codes below 32, of which some are subnormal, and one for the
// others, to whose exponent the upper two bits of a magnitude are added.
//
// The form is what the formats differ by: sixteen numbers; for each table the
// places of its words among those of the numbers, and what is added to them;
// then single words and dwords.
func zmantissaKernel() {
	const name = "float8NormalAVX512"
	TEXT(name, NOSPLIT, "func(dst *byte, src *byte, a *float32, form *byte, chunks int, n int) int")
	Pragma("noescape")
	Doc(name + " decodes runs of chunks of 32 codes, at most n, up to the first scale that it does not serve, and returns how many.")
	z := &zkernel{dst: Load(Param("dst"), GP64()), src: Load(Param("src"), GP64())}
	a, chunks := Load(Param("a"), GP64()), GP64()
	form := Mem{Base: Load(Param("form"), GP64())}
	const singles = 5 * 64
	numbers := zload(form)
	var places, added [2]VecVirtual
	for i := range places {
		places[i], added[i] = zload(form.Offset(64+128*i)), zload(form.Offset(128+128*i))
	}
	word := func(i int) VecVirtual {
		x := ZMM()
		VPBROADCASTW(form.Offset(singles+2*i), x)
		return x
	}
	shift, keep := word(0), word(1) // bring sign and upper exponent to their place
	part, none := YMM(), YMM()      // that part of a NaN is none
	VPBROADCASTB(form.Offset(singles+4), part)
	VPBROADCASTB(form.Offset(singles+5), none)
	upper := YMM()
	VPBROADCASTD(dwords(0x60606060), upper)
	nan := all(0x7FC07FC0)
	left := Load(Param("n"), GP64())

	Label("run")
	exponent := GP32()
	MOVL(Mem{Base: a}, exponent)
	SHRL(Imm(23), exponent)
	and32(exponent, 0xFF)
	SUBL(form.Offset(singles+8), exponent)
	CMPL(exponent, form.Offset(singles+12))
	JHI(LabelRef("stop"))
	x, odd := ZMM(), K()
	VMULPS_BCST(Mem{Base: a}, numbers, x)
	VPTESTMD_BCST(dwords(0x10000), x, odd)
	VPADDD_BCST(dwords(roundPlain), x, x)
	VPADDD_BCST(dwords(1), x, odd, x)
	var tables [2]VecVirtual
	for i := range tables {
		tables[i] = ZMM()
		VPERMW(x, places[i], tables[i])
		VPADDW(added[i], tables[i], tables[i])
	}
	Load(Param("chunks"), chunks)

	Label("chunk")
	bytes, codes, e, w := YMM(), ZMM(), ZMM(), ZMM()
	low, missing := K(), K()
	VMOVDQU32(z.from(0), bytes)
	VPMOVSXBW(bytes, codes)
	VPTESTNMB(upper, bytes, low)
	VPERMW(tables[1], codes, w)
	VPERMW(tables[0], codes, low, w)
	VPSLLVW(shift, codes, e)
	VPANDD(keep, e, e)
	VPADDW(e, w, w)
	VPANDD(part, bytes, bytes)
	VPCMPEQB(none, bytes, missing)
	VMOVDQU16(nan, missing, w)
	VMOVDQU16(w, z.to(0))
	z.advance(32, 32)
	DECQ(chunks)
	JNZ(LabelRef("chunk"))
	ADDQ(Imm(4), a)
	DECQ(left)
	JNZ(LabelRef("run"))

	Label("stop")
	done := Load(Param("n"), GP64())
	SUBQ(left, done)
	Store(done, ReturnIndex(0))
	zend()
}
