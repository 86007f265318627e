package avx2

import (
	"fmt"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// expandKernels writes kernels that put numbers at the set bits of a mask, and zeros
// elsewhere: eight for each byte of the mask, whose table has the index of each number, C0
// for none. They stop before eight numbers would be read past the last.
func expandKernels() {
	for _, size := range []int{1, 2, 4} {
		name := fmt.Sprintf("expand%dAVX2", size)
		Entry(name, "expand[%d]", size)
		Frame(name, "func(dst *byte, src *byte, last *byte, mask *byte, n int) int", "expands numbers by up to n bytes of a mask and says how many are left.",
			"For each byte of the mask: order = expansions[byte];",
			"eight numbers = src[order], or zero where that is C0;",
			"src moves on by as many numbers as bits are set.")
		dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
		last, mask, n := Load(Param("last"), GP64()), Load(Param("mask"), GP64()), Load(Param("n"), GP64())
		table := Into(GP64(), LEAQ, Variable("expansions"))
		done := NewLabel("done")
		Repeat("more", n, func() {
			CMPQ(src, last)
			JHI(done.Ref())
			bits := Into(GP64(), MOVBQZX, Mem{Base: mask})
			count := Into(GP64(), POPCNTQ, bits)
			order := Mem{Base: table, Index: bits, Scale: 8}
			x, p := XMM(), XMM()
			switch size {
			case 1:
				VMOVQ(order, p)
				VMOVQ(Mem{Base: src}, x)
				VPSHUFB(p, x, x)
				VMOVQ(x, Mem{Base: dst})
			case 2: // twice the place, and the byte behind it
				VPMOVZXBW(order, p)
				VPMULLW(Words(0x0202), p, p)
				VPADDW(Words(0x0100), p, p)
				VMOVDQU(Mem{Base: src}, x)
				VPSHUFB(p, x, x)
				VMOVDQU(x, Mem{Base: dst})
			case 4:
				x, p := YMM(), YMM()
				VPMOVZXBD(order, p)
				VPERMD(Mem{Base: src}, p, x)
				VPSLLD(Imm(24), p, p)
				VPSRAD(Imm(31), p, p)
				VPANDN(x, p, x)
				VMOVDQU(x, Mem{Base: dst})
			}
			LEAQ(Mem{Base: src, Index: count, Scale: uint8(size)}, src)
			INCQ(mask)
			ADDQ(Imm(uint64(8*size)), dst)
		})
		done.Here()
		Store(n, ReturnIndex(0))
		End()
	}
}
