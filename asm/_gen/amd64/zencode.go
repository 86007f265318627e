package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// zabsmaxKernel takes n runs of chunks of 32 float32. Magnitudes compare as
// integers.
func zabsmaxKernel() {
	function("absmaxAVX512", "func(dst *float32, src *byte, chunks int, n int)", "writes the largest magnitude of each of n runs of chunks of 32 numbers.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, chunks := Load(Param("n"), GP64()), GP64()
	magnitude := all(0x7FFFFFFF)
	Label("run")
	Load(Param("chunks"), chunks)
	most := [2]VecVirtual{ZMM(), ZMM()}
	for _, m := range most {
		VPXORD(m, m, m)
	}
	Label("chunk")
	for i, m := range most {
		x := ZMM()
		VPANDD(Mem{Base: src, Disp: 64 * i}, magnitude, x)
		VPMAXUD(x, m, m)
	}
	ADDQ(U32(128), src)
	DECQ(chunks)
	JNZ(LabelRef("chunk"))
	m, other := most[0], most[1]
	VPMAXUD(other, m, m)
	VEXTRACTI64X4(Imm(1), m, other.AsY())
	VPMAXUD(other.AsY(), m.AsY(), m.AsY())
	VEXTRACTI32X4(Imm(1), m.AsY(), other.AsX())
	for _, order := range []uint64{0x4E, 0xB1, 0} {
		VPMAXUD(other.AsX(), m.AsX(), m.AsX())
		if order != 0 {
			VPSHUFD(Imm(order), m.AsX(), other.AsX())
		}
	}
	VMOVD(m.AsX(), Mem{Base: dst})
	ADDQ(Imm(4), dst)
	DECQ(n)
	JNZ(LabelRef("run"))
	end()
}

// znearestKernel finds how many of fifteen bounds lie below each scaled number,
// by halves, as the kernel of smaller registers does and from its tables:
// counters are negative, and what they found is the place of the next bound.
func znearestKernel() {
	var third, fourth, order, middle, low, high, less, halves VecVirtual
	inverse, least := ZMM(), XMM()
	encodeRuns("nearestAVX512", ", tables *byte, least *float32", "writes the codes of n runs of chunks of 32 numbers, two a byte, the first in the high nibble.", 16,
		func() {
			t := Mem{Base: Load(Param("tables"), GP64())}
			third, fourth, order = ZMM(), ZMM(), ZMM()
			VBROADCASTF32X8(t, third)
			VBROADCASTF32X8(t.Offset(32), fourth)
			VBROADCASTI32X4(t.Offset(64), order)
			middle, low, high = zsingle(t.Offset(80)), zsingle(t.Offset(84)), zsingle(t.Offset(88))
			less = all(0xFFFFFFFF)
			// Of 32 dwords the low bytes: the even ones, then the odd ones.
			halves = zload(bytes64(func(i int) int { return i%16*8 + i/16%2*4 }))
			VMOVSS(Mem{Base: Load(Param("least"), GP64())}, least)
		},
		inverseFrom(least),
		func(x VecVirtual) { VBROADCASTSS(x, inverse) },
		func(src, dst Register) {
			var n [2]VecVirtual
			for i := range n {
				x, bound, k := ZMM(), ZMM(), K()
				n[i] = ZMM()
				VMULPS(Mem{Base: src, Disp: 64 * i}, inverse, x)
				VCMPPS(Imm(17), x, middle, k)
				VPMOVM2D(k, n[i])
				VBLENDMPS(high, low, k, bound)
				for _, next := range []VecVirtual{third, fourth, nil} {
					k := K()
					VCMPPS(Imm(17), x, bound, k)
					VPADDD(n[i], n[i], n[i])
					VPADDD(less, n[i], k, n[i])
					if next != nil {
						VPERMPS(next, n[i], bound)
					}
				}
			}
			VPERMT2B(n[1], halves, n[0])
			VPERMB(order, n[0], n[0])
			first, second := n[0].AsX(), XMM()
			VEXTRACTI32X4(Imm(1), n[0].AsY(), second)
			VPSLLW(Imm(4), first, first)
			VPORD(second, first, first)
			VMOVDQU32(first, Mem{Base: dst})
		})
}

// zint8Kernel rounds numbers times 127/scale to bytes; what is not finite
// becomes zero.
func zint8Kernel() {
	var none VecVirtual
	inverse := ZMM()
	encodeRuns("int8AVX512", "", "rounds n runs of chunks of 32 numbers to bytes.", 32,
		func() { none = all(0x80000000) },
		inverse127,
		func(x VecVirtual) { VBROADCASTSS(x, inverse) },
		func(src, dst Register) {
			for i := range 2 {
				x, some := ZMM(), K()
				VMULPS(Mem{Base: src, Disp: 64 * i}, inverse, x)
				VCVTPS2DQ(x, x)
				VPCMPD(Imm(4), none, x, some)
				VPMOVSDB_Z(x, some, x.AsX())
				VMOVDQU32(x.AsX(), Mem{Base: dst, Disp: 16 * i})
			}
		})
}
