package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// limitKernel does nothing but widen bytes to words, with plain stores: the
// rate that no decoder can pass. For each 64 bytes written it moves on by step
// bytes, of 32 that it reads.
func limitKernel() {
	function("limitAVX2", "func(dst *byte, src *byte, step int, n int)", "writes 32 words n times, from step bytes each. It measures memory.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	step, n := Load(Param("step"), GP64()), Load(Param("n"), GP64())
	Label("more")
	a, b := YMM(), YMM()
	VPMOVZXBW(Mem{Base: src}, a)
	VPMOVZXBW(Mem{Base: src, Disp: 16}, b)
	VMOVDQU(a, Mem{Base: dst})
	VMOVDQU(b, Mem{Base: dst, Disp: 32})
	more(n, src, step, dst, Imm(64))
}
