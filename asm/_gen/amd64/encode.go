package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// encodeKernels are what encoders are made of: the largest magnitude of a run,
// the nearest of sixteen values, rounding to bytes.
func encodeKernels() {
	absmaxKernel()
	nearestKernel()
	int8Kernel()
}

// absmaxKernel takes n runs of chunks of 32 float32. Magnitudes compare as
// integers.
func absmaxKernel() {
	function("absmaxAVX2", "func(dst *float32, src *byte, chunks int, n int)", "writes the largest magnitude of each of n runs of chunks of 32 numbers.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, chunks := Load(Param("n"), GP64()), GP64()
	mask := load(dwords(0x7FFFFFFF))
	Label("run")
	Load(Param("chunks"), chunks)
	var most [4]VecVirtual
	for i := range most {
		most[i] = YMM()
		VPXOR(most[i], most[i], most[i])
	}
	Label("chunk")
	for i := range most {
		x := YMM()
		VPAND(Mem{Base: src, Disp: 32 * i}, mask, x)
		VPMAXUD(x, most[i], most[i])
	}
	ADDQ(U32(128), src)
	DECQ(chunks)
	JNZ(LabelRef("chunk"))
	VPMAXUD(most[1], most[0], most[0])
	VPMAXUD(most[3], most[2], most[2])
	VPMAXUD(most[2], most[0], most[0])
	x, low := XMM(), most[0].AsX()
	VEXTRACTI128(Imm(1), most[0], x)
	VPMAXUD(x, low, low)
	VPSHUFD(Imm(0x4E), low, x)
	VPMAXUD(x, low, low)
	VPSHUFD(Imm(0xB1), low, x)
	VPMAXUD(x, low, low)
	VMOVD(low, Mem{Base: dst})
	ADDQ(Imm(4), dst)
	DECQ(n)
	JNZ(LabelRef("run"))
	end()
}

// encodeRuns is the loops of an encoder over n runs of chunks of 32 numbers,
// each run under one scale. What numbers are multiplied by, inverse makes of the
// scale, a run ahead.
func encodeRuns(name, params, doc string, out int, before func(), inverse func(scale Mem, x VecVirtual), run func(x VecVirtual), chunk func(src, dst Register)) {
	function(name, "func(dst *byte, src *byte, scales *float32"+params+", chunks int, n int)", doc)
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	scales, n, chunks := Load(Param("scales"), GP64()), Load(Param("n"), GP64()), GP64()
	before()
	x, next := XMM(), GP64()
	inverse(Mem{Base: scales}, x)
	Label("run")
	Load(Param("chunks"), chunks)
	run(x)
	LEAQ(Mem{Base: scales, Disp: 4}, next)
	CMPQ(n, Imm(1))
	CMOVQNE(next, scales)
	inverse(Mem{Base: scales}, x)
	Label("chunk")
	chunk(src, dst)
	ADDQ(U32(128), src)
	ADDQ(Imm(uint64(out)), dst)
	DECQ(chunks)
	JNZ(LabelRef("chunk"))
	DECQ(n)
	JNZ(LabelRef("run"))
	end()
}

// oneOver divides in double precision and rounds once more, which is the same
// number: no quotient of two floats is near the middle of two, subnormal or not,
// without being it. A division with a subnormal operand or quotient holds up all
// else.
func oneOver(s Op, x VecVirtual) {
	one := XMM()
	VMOVSD(qwords(math.Float64bits(1)), one)
	VCVTSS2SD(s, one, x)
	VDIVSD(x, one, x)
	VCVTSD2SS(x, x, x)
}

// inverseFrom is one over a scale, of which the least is that.
func inverseFrom(least VecVirtual) func(scale Mem, x VecVirtual) {
	return func(scale Mem, x VecVirtual) {
		most := XMM()
		VMAXSS(scale, least, most) // the second where one is NaN: the scale
		oneOver(most, x)
	}
}

// inverse127 is 127 over a scale, rounded between.
func inverse127(scale Mem, x VecVirtual) {
	nothing := XMM()
	oneOver(scale, x)
	VMOVSS(dwords(0x80000000), nothing)
	VFMADD132SS(floats(127), nothing, x)
}

// scaledDown multiplies numbers by an inverse. Either may be subnormal, hence the
// fused addition of minus zero: see [kernel.multiplied].
func scaledDown(m Mem, inverse, nothing VecVirtual) VecVirtual {
	x := load(m)
	VFMADD213PS(nothing, inverse, x)
	return x
}

// nearestKernel finds how many of fifteen bounds lie below each scaled number,
// by halves: each comparison subtracts one from twice what the ones before
// found, and what it found is the place of the next bound. Counters are
// negative, so the tables run backwards.
func nearestKernel() {
	var third, fourth, order, middle, low, high VecVirtual
	inverse, nothing, least := YMM(), YMM(), XMM()
	encodeRuns("nearestAVX2", ", tables *byte, least *float32", "writes the codes of n runs of chunks of 32 numbers, two a byte, the first in the high nibble.", 16,
		func() {
			t := Mem{Base: Load(Param("tables"), GP64())}
			third, fourth, order = load(t), load(t.Offset(32)), YMM()
			VBROADCASTI128(t.Offset(64), order)
			middle, low, high = YMM(), YMM(), YMM()
			VBROADCASTSS(t.Offset(80), middle)
			VBROADCASTSS(t.Offset(84), low)
			VBROADCASTSS(t.Offset(88), high)
			VMOVSS(Mem{Base: Load(Param("least"), GP64())}, least)
			VMOVDQU(dwords(0x80000000), nothing)
		},
		inverseFrom(least),
		func(x VecVirtual) { VBROADCASTSS(x, inverse) },
		func(src, dst Register) {
			var n [4]VecVirtual
			for i := range n {
				x := scaledDown(Mem{Base: src, Disp: 32 * i}, inverse, nothing)
				n[i] = below(x, middle, low, high, third, fourth)
			}
			VPACKSSDW(n[1], n[0], n[0])
			VPACKSSDW(n[3], n[2], n[2])
			VPACKSSWB(n[2], n[0], n[0])
			VPERMD(n[0], load(dwords(0, 4, 1, 5, 2, 6, 3, 7)), n[0])
			VPAND(bytes32(0x0F), n[0], n[0])
			VPSHUFB(n[0], order, n[0])
			// Sixteen times the first and the second: a byte of two codes.
			VPMADDUBSW(bytes32(16, 1), n[0], n[0])
			x := XMM()
			VEXTRACTI128(Imm(1), n[0], x)
			VPACKUSWB(x, n[0].AsX(), x)
			VMOVDQU(x, Mem{Base: dst})
		})
}

// below is minus the number of bounds below x.
func below(x, middle, low, high, third, fourth VecVirtual) VecVirtual {
	n, m, bound := YMM(), YMM(), YMM()
	less := func(bound VecVirtual, m VecVirtual) { VCMPPS(Imm(17), x, bound, m) }
	next := func() {
		VPADDD(n, n, n)
		VPADDD(m, n, n)
	}
	less(middle, n)
	VBLENDVPS(n, high, low, bound)
	less(bound, m)
	next()
	VPERMPS(third, n, bound)
	less(bound, m)
	next()
	VPERMPS(fourth, n, bound)
	less(bound, m)
	next()
	return n
}

// int8Kernel rounds numbers times 127/scale to bytes; what is not finite becomes
// zero.
func int8Kernel() {
	inverse, nothing := YMM(), YMM()
	encodeRuns("int8AVX2", "", "rounds n runs of chunks of 32 numbers to bytes.", 32,
		func() { VMOVDQU(dwords(0x80000000), nothing) },
		inverse127,
		func(x VecVirtual) { VBROADCASTSS(x, inverse) },
		func(src, dst Register) {
			var n [4]VecVirtual
			for i := range n {
				n[i] = scaledDown(Mem{Base: src, Disp: 32 * i}, inverse, nothing)
				none := YMM()
				VCVTPS2DQ(n[i], n[i])
				VPCMPEQD(dwords(0x80000000), n[i], none)
				VPANDN(n[i], none, n[i])
			}
			VPACKSSDW(n[1], n[0], n[0])
			VPACKSSDW(n[3], n[2], n[2])
			VPACKSSWB(n[2], n[0], n[0])
			VPERMD(n[0], load(dwords(0, 4, 1, 5, 2, 6, 3, 7)), n[0])
			VMOVDQU(n[0], Mem{Base: dst})
		})
}
