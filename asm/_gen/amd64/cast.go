package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

var typeNames = []string{"F32", "BF16", "F16"}

// castKernels converts between the types of numbers, 32 at a time.
func castKernels() {
	for from, f := range typeNames {
		for to, t := range typeNames {
			name := "cast" + f + "To" + t + "AVX2"
			entry(name, "cast[%s][%s]", f, t)
			function(name, "func(dst *byte, src *byte, n int)", "converts 32 numbers n times.")
			dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
			n := Load(Param("n"), GP64())
			k := &kernel{dst: dst, src: src, add: load(dwords(roundPlain)), up: load(dwords(roundPlain + 1))}
			Label("more")
			for i := 0; i < 4; i += 2 {
				k.castPair(from, to, 8*i)
			}
			more(n, src, U32(32*sizes[from]), dst, U32(32*sizes[to]))
		}
	}
}

var sizes = []int{4, 2, 2}

func (k *kernel) castPair(from, to, at int) {
	out := [2]VecVirtual{YMM(), YMM()}
	for i, x := range out {
		widened(typeNames[from], k.from((at+8*i)*sizes[from]), x)
		quieted(x)
	}
	k.store(out, typeNames[to], at)
}

// widened fills a register with numbers of a type.
func widened(from string, m Mem, x VecVirtual) {
	switch from {
	case "F32":
		VMOVUPS(m, x)
	case "BF16":
		VPMOVZXWD(m, x)
		VPSLLD(Imm(16), x, x)
	case "F16":
		VCVTPH2PS(m, x)
	}
}

// store writes sixteen numbers in their order, of which a NaN is 7FC00000.
func (k *kernel) store(x [2]VecVirtual, to string, at int) {
	if to == "BF16" {
		for _, y := range x {
			k.nearest(y)
			VPSRLD(Imm(16), y, y)
		}
		VPACKUSDW(x[1], x[0], x[0])
		VPERMQ(Imm(quads), x[0], x[0])
		VMOVDQU(x[0], Mem{Base: k.dst, Disp: 2 * at})
		return
	}
	for i, y := range x {
		if to == "F16" {
			storeHalves(y, Mem{Base: k.dst, Disp: 2 * (at + 8*i)})
		} else {
			VMOVUPS(y, Mem{Base: k.dst, Disp: 4 * (at + 8*i)})
		}
	}
}
