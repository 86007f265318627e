package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zplane is 256 bytes by their index, in four registers.
type zplane [4]VecVirtual

// find looks 64 codes up in each plane: first those whose top bit is set, of
// which the places then hold what was found, then the others, which are codes
// still.
func find(codes VecVirtual, planes ...zplane) (found []VecVirtual) {
	high, low := K(), K()
	VPMOVB2M(codes, high)
	KNOTQ(high, low)
	for _, p := range planes {
		x := ZMM()
		VMOVDQA64(codes, x)
		VPERMI2B(p[3], p[2], high, x)
		VPERMI2B(p[1], p[0], low, x)
		found = append(found, x)
	}
	return found
}

// ordered loads 64 codes, or 32, in an order of qwords or dwords.
func ordered(n int, m Mem, order VecVirtual, permute func(...Op)) VecVirtual {
	x := ZMM()
	if n == 64 {
		permute(m, order, x)
		return x
	}
	VMOVDQU32(m, x.AsY())
	permute(x, order, x)
	return x
}

// zlookedKernel is codes of a byte each that a table of 256 words explains: what
// another kernel has made of all codes.
func zlookedKernel() {
	function("lookedAVX512", "func(dst *byte, src *byte, table *byte, chunks int)", "looks chunks of 32 codes up in a table of 256 words.")
	z := &zkernel{dst: Load(Param("dst"), GP64()), src: Load(Param("src"), GP64())}
	table := Mem{Base: Load(Param("table"), GP64())}
	var lower, upper zplane
	even, odd := zload(bytes64(func(i int) int { return 2 * i })), zload(bytes64(func(i int) int { return 2*i + 1 }))
	for i := range lower {
		lower[i] = zload(table.Offset(128 * i))
		upper[i] = ZMM()
		VMOVDQA64(lower[i], upper[i])
		second := zload(table.Offset(128*i + 64))
		VPERMT2B(second, even, lower[i])
		VPERMT2B(second, odd, upper[i])
	}
	order := zload(bytes64(func(i int) int { return int(uint64(i/8%2*4+i/16) >> (i % 8 * 8)) }))
	chunk := func(n int) func() {
		return func() {
			w := find(ordered(n, z.from(0), order, VPERMQ), lower, upper)
			for i, unpack := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW}[:n/32] {
				x := ZMM()
				unpack(w[1], w[0], x)
				VMOVDQU64(x, z.to(32*i))
			}
		}
	}
	zpairs(z, "", Load(Param("chunks"), GP64()), 32, 32, chunk(64), chunk(32))
	end()
}
