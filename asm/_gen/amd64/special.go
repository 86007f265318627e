package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// specialKernels count, in 64 bytes at a time, numbers whose magnitude is above
// the largest one, and those whose magnitude is above infinity: what differs are
// the infinities. Lanes of 16 bits hold 16,383 rounds of two.
func specialKernels() {
	for _, t := range []struct {
		name            string
		wide            bool
		magnitude       Mem
		largest, beyond Mem
	}{
		{"F32", true, dwords(0x7FFFFFFF), dwords(0x7F7FFFFF), dwords(0x7F800000)},
		{"BF16", false, words(0x7FFF), words(0x7F7F), words(0x7F80)},
		{"F16", false, words(0x7FFF), words(0x7BFF), words(0x7C00)},
	} {
		name := "special" + t.name + "AVX2"
		TEXT(name, NOSPLIT, "func(counts *uint32, src *byte, n int)")
		Pragma("noescape")
		Doc(name + " counts in n times 64 bytes: eight sums of what is no finite number, eight of NaN.")
		counts, src := Load(Param("counts"), GP64()), Load(Param("src"), GP64())
		n := Load(Param("n"), GP64())
		magnitude := load(t.magnitude)
		limits := [2]VecVirtual{load(t.largest), load(t.beyond)}
		var sums [2][2]VecVirtual
		for i := range sums {
			for j := range sums[i] {
				sums[i][j] = YMM()
				VPXOR(sums[i][j], sums[i][j], sums[i][j])
			}
		}
		Label("more")
		for i := range 2 {
			x := YMM()
			VPAND(Mem{Base: src, Disp: 32 * i}, magnitude, x)
			for j := range 2 {
				above := YMM()
				if t.wide {
					VPCMPGTD(limits[j], x, above)
					VPSUBD(above, sums[i][j], sums[i][j])
				} else {
					VPCMPGTW(limits[j], x, above)
					VPSUBW(above, sums[i][j], sums[i][j])
				}
			}
		}
		ADDQ(Imm(64), src)
		DECQ(n)
		JNZ(LabelRef("more"))
		for j := range 2 {
			if !t.wide {
				VPADDW(sums[0][j], sums[1][j], sums[0][j])
				VPMADDWD(words(1), sums[0][j], sums[0][j])
			} else {
				VPADDD(sums[0][j], sums[1][j], sums[0][j])
			}
			VMOVDQU(sums[0][j], Mem{Base: counts, Disp: 32 * j})
		}
		VZEROUPPER()
		RET()
	}
}
