package rows

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// e4m3 encodes numbers that a factor brings into range: they are multiplied with it, or divided by it
// and rounded to a type.
func e4m3() {
	kernel := func(name, says string, scaled func(factor, x VecVirtual)) {
		var factor VecVirtual
		eachBlock(name, ", factor *float32", "writes 32 n numbers "+says+" as E4M3.",
			[]string{"For each number: 448 at most; from 2^-6 on rounded to three bits of fraction, below it to units of 2^-9."}, 32, 32,
			func() {
				factor = YMM()
				VBROADCASTSS(Mem{Base: Load(Param("factor"), GP64())}, factor)
			},
			func(s small) {
				x := s.numbers(0)
				var signs [4]VecVirtual
				for i, y := range x {
					scaled(factor, y)
					signs[i] = emit.Into(YMM(), VPSRLD, Imm(31), y)
					VPSLLD(Imm(7), signs[i], signs[i])
					roundE4M3(y)
					VPOR(signs[i], y, y)
				}
				VMOVDQU(packed(x, VPACKUSWB), Mem{Base: s.dst})
			})
	}
	times := func(factor, x VecVirtual) { VMULPS(factor, x, x) }
	over := func(factor, x VecVirtual) { VDIVPS(factor, x, x) }
	kernel("e4m3Times", "times a factor", times)
	kernel("e4m3OverF32", "over a factor", over)
	kernel("e4m3OverBF16", "over a factor, rounded to bfloat16,", func(factor, x VecVirtual) {
		over(factor, x)
		odd := emit.Into(YMM(), VPSRLD, Imm(16), x)
		VPAND(emit.Dwords(1), odd, odd)
		VPADDD(emit.Dwords(0x7FFF), odd, odd)
		VPADDD(odd, x, x)
		VPAND(emit.Dwords(0xFFFF0000), x, x)
	})
	kernel("e4m3OverF16", "over a factor, rounded to float16,", func(factor, x VecVirtual) {
		over(factor, x)
		VCVTPS2PH(Imm(0), x, x.AsX())
		VCVTPH2PS(x.AsX(), x)
	})
}

// roundE4M3 makes the code of each magnitude. Adding 2^14, whose last bit is 2^-9, rounds the small ones.
func roundE4M3(x VecVirtual) {
	tiny, odd, normal := YMM(), YMM(), YMM()
	VPAND(emit.Dwords(0x7FFFFFFF), x, x)
	VPMINSD(emit.Dwords(0x43E00000), x, x)
	VADDPS(emit.Floats(1<<14), x, tiny)
	VPSUBD(emit.Dwords(0x46800000), tiny, tiny)
	VPCMPGTD(emit.Dwords(0x3C800000-1), x, normal)
	VPSRLD(Imm(20), x, odd)
	VPAND(emit.Dwords(1), odd, odd)
	VPADDD(odd, x, x)
	VPADDD(emit.Dwords(0x7FFFF), x, x)
	VPSRLD(Imm(20), x, x)
	VPSUBD(emit.Dwords(120<<3), x, x)
	VPBLENDVB(normal, x, tiny, x)
}
