package rows

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// choose writes the codes of groups under scales and minimums. Integers are clamped, not numbers, as
// nothing bounds the quotients.
func choose(name, sign string, by func(...Op)) {
	emit.Frame(name+"AVX2", "func(dst *byte, x *float32, scales *float32, minimums *float32, limits *uint32, steps int, n int)",
		"writes the codes of n groups of 16*steps elements: nearest((x+minimum)"+sign+"scale) between two limits, the least of which is code 0.",
		"For each element: code = clamp(the low 23 bits of (x+minimum)"+sign+"scale+1.5*2^23, low, high) - low.")
	dst, x := Load(Param("dst"), GP64()), Load(Param("x"), GP64())
	scales, minimums, bounds := Load(Param("scales"), GP64()), Load(Param("minimums"), GP64()), Load(Param("limits"), GP64())
	steps, n, left := Load(Param("steps"), GP64()), Load(Param("n"), GP64()), GP64()
	low, high := broadcast(Mem{Base: bounds}), broadcast(Mem{Base: bounds, Disp: 4})
	magic, bits := number(3<<22), all(1<<23-1)
	emit.Repeat("group", n, func() {
		scale, minimum := broadcast(Mem{Base: scales}), broadcast(Mem{Base: minimums})
		MOVQ(steps, left)
		emit.Repeat("step", left, func() {
			c := load(value{mem: Mem{Base: x}, step: 32})
			each(VADDPS, minimum, c, c)
			each(by, scale, c, c)
			roundBetween(c, magic, bits, low, high, low)
			y := c.regs[0]
			VPACKSSDW(c.regs[1], y, y)
			VPERMQ(Imm(0xD8), y, y)
			out := emit.Into(XMM(), VEXTRACTI128, Imm(1), y)
			VPACKUSWB(out, y.AsX(), out)
			VMOVDQU(out, Mem{Base: dst})
			ADDQ(Imm(16), dst)
			ADDQ(Imm(64), x)
		})
		ADDQ(Imm(4), scales)
		ADDQ(Imm(4), minimums)
	})
	emit.End()
}

// roundBetween makes integers of numbers: the low bits of what magic rounds, between two limits, less
// another number.
func roundBetween(c, magic, bits, low, high, less value) {
	each(VADDPS, magic, c, c)
	each(VANDPS, bits, c, c)
	each(VPMAXSD, low, c, c)
	each(VPMINSD, high, c, c)
	each(VPSUBD, less, c, c)
}

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
