package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// specialKernels count, in 64 bytes at a time, numbers whose magnitude is above
// the largest one, and those whose magnitude is above infinity, which tells types
// of a size apart. Lanes of 16 bits hold 16,383 rounds of two.
func specialKernels() {
	for _, t := range []struct {
		size                         string
		types                        []string
		magnitude                    Mem
		repeat, add, less, isGreater func(...Op)
	}{
		{"32", []string{"F32"}, dwords(0x7FFFFFFF), VPBROADCASTD, VPADDD, VPSUBD, VPCMPGTD},
		{"16", []string{"BF16", "F16"}, words(0x7FFF), VPBROADCASTW, VPADDW, VPSUBW, VPCMPGTW},
	} {
		name := "special" + t.size + "AVX2"
		for _, of := range t.types {
			entry(fmt.Sprintf("with(%s, infinities[%s])", name, of), "special[%s]", of)
		}
		function(name, "func(counts *uint32, src *byte, infinity uint32, n int)", "counts in n times 64 bytes: eight sums of what is no finite number, eight of NaN.")
		counts, src := Load(Param("counts"), GP64()), Load(Param("src"), GP64())
		magnitude := load(t.magnitude)
		limits := [2]VecVirtual{YMM(), YMM()} // the largest number, and infinity
		VMOVD(Load(Param("infinity"), GP32()), limits[1].AsX())
		t.repeat(limits[1].AsX(), limits[1])
		t.add(dwords(0xFFFFFFFF), limits[1], limits[0])
		n := Load(Param("n"), GP64())
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
				t.isGreater(limits[j], x, above)
				t.less(above, sums[i][j], sums[i][j])
			}
		}
		ADDQ(Imm(64), src)
		DECQ(n)
		JNZ(LabelRef("more"))
		for j := range 2 {
			t.add(sums[0][j], sums[1][j], sums[0][j])
			if t.size == "16" {
				VPMADDWD(words(1), sums[0][j], sums[0][j])
			}
			VMOVDQU(sums[0][j], Mem{Base: counts, Disp: 32 * j})
		}
		end()
	}
}
