package rows

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// choose writes the codes of groups under scales and minimums. Integers are clamped, not numbers, as
// nothing bounds the quotients.
func choose() {
	emit.Frame("chooseAVX2", "func(dst *byte, x *float32, scales *float32, minimums *float32, limits *uint32, steps int, n int)",
		"writes the codes of n groups of 16*steps elements: nearest((x+minimum)/scale) between two limits, the least of which is code 0.",
		"For each element: code = clamp(the low 23 bits of (x+minimum)/scale+1.5*2^23, low, high) - low.")
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
			each(VDIVPS, scale, c, c)
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
