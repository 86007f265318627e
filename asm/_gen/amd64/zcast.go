package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// zcastKernels converts between the types of numbers, 32 at a time.
func zcastKernels() {
	if short {
		zcastKernel(2, 1)
		return
	}
	for from, f := range typeNames {
		for to, t := range typeNames {
			if f != t && t != "F32" {
				zcastKernel(from, to)
			}
		}
	}
	zsameKernel()
}

func zcastKernel(from, to int) {
	z := zbegin("cast"+typeNames[from]+"To", to, ", n int", "converts 32 numbers n times.")
	n := Load(Param("n"), GP64())
	Label("more")
	x := [2]VecVirtual{ZMM(), ZMM()}
	for i, x := range x {
		widened(typeNames[from], z.from(16*i*sizes[from]), x)
		zquieted(x)
	}
	z.put(0, x[0], x[1])
	z.advance(32*sizes[from], 32)
	DECQ(n)
	JNZ(LabelRef("more"))
	end()
}

// zsameKernel copies words but for those whose magnitude is above infinity's:
// they become the one NaN.
func zsameKernel() {
	function("castSameAVX512", "func(dst *byte, src *byte, special *[2]uint16, n int)", "copies 32 words n times, each above the first special one as the second.")
	z := &zkernel{dst: Load(Param("dst"), GP64()), src: Load(Param("src"), GP64())}
	infinity, nan := ZMM(), ZMM()
	special := Mem{Base: Load(Param("special"), GP64())}
	VPBROADCASTW(special, infinity)
	VPBROADCASTW(special.Offset(2), nan)
	n := Load(Param("n"), GP64())
	magnitude := all(0x7FFF7FFF)
	Label("more")
	x, m, above := zload(z.from(0)), ZMM(), K()
	VPANDD(magnitude, x, m)
	VPCMPUW(Imm(6), infinity, m, above)
	VMOVDQU16(nan, above, x)
	VMOVDQU16(x, z.to(0))
	z.advance(64, 32)
	DECQ(n)
	JNZ(LabelRef("more"))
	end()
}
