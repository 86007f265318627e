// Package lookup is codes of a byte each that a table of 256 words explains.
package lookup

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A plane is 256 bytes by their index, in four registers.
type plane [4]VecVirtual

// find looks 64 codes up in each plane: first those whose top bit is set, of
// which the places then hold what was found, then the others, which are codes
// still.
func find(codes VecVirtual, planes ...plane) (found []VecVirtual) {
	high := Into(K(), VPMOVB2M, codes)
	low := Into(K(), KNOTQ, high)
	for _, p := range planes {
		x := Into(ZMM(), VMOVDQA64, codes)
		VPERMI2B(p[3], p[2], high, x)
		VPERMI2B(p[1], p[0], low, x)
		found = append(found, x)
	}
	return found
}

// Ordered loads 64 codes, or 32, in an order of qwords or dwords.
func Ordered(n int, m Mem, order VecVirtual, permute func(...Op)) VecVirtual {
	x := ZMM()
	if n == 64 {
		permute(m, order, x)
		return x
	}
	VMOVDQU32(m, x.AsY())
	permute(x, order, x)
	return x
}

// AVX512 is codes of a byte each that a table of 256 words explains: what
// another kernel has made of all codes.
func AVX512() {
	Frame("lookupAVX512", "func(dst *byte, src *byte, table *byte, chunks int)", "looks chunks of 32 codes up in a table of 256 words.",
		"The lower and the upper bytes of 256 words, in eight registers.",
		"For 64 codes: both bytes of word q, found by halves of the table;",
		"unpacked to words.")
	z := &Kernel{Target: ToBF16, Dst: Load(Param("dst"), GP64()), Src: Load(Param("src"), GP64())}
	table := Mem{Base: Load(Param("table"), GP64())}
	var lower, upper plane
	even, odd := Load64(Bytes64(func(i int) int { return 2 * i })), Load64(Bytes64(func(i int) int { return 2*i + 1 }))
	for i := range lower {
		lower[i] = Load64(table.Offset(128 * i))
		upper[i] = Into(ZMM(), VMOVDQA64, lower[i])
		second := Load64(table.Offset(128*i + 64))
		VPERMT2B(second, even, lower[i])
		VPERMT2B(second, odd, upper[i])
	}
	order := Load64(Bytes64(func(i int) int { return int(uint64(i/8%2*4+i/16) >> (i % 8 * 8)) }))
	chunk := func(n int) func() {
		return func() {
			w := find(Ordered(n, z.From(0), order, VPERMQ), lower, upper)
			for i, unpack := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW}[:n/32] {
				x := ZMM()
				unpack(w[1], w[0], x)
				VMOVDQU64(x, z.To(32*i))
			}
		}
	}
	Pairs(z, Load(Param("chunks"), GP64()), 32, 32, chunk(64), chunk(32))
	End()
}
