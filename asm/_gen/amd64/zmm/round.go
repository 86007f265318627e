package zmm

import (
	"fmt"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	. "github.com/mmcloughlin/avo/reg"
)

// Put writes 32 numbers, sixteen and sixteen, which it destroys. A NaN must be 7FC00000.
func (z *Kernel) Put(at int, a, b VecVirtual) {
	if !z.Wide {
		VMOVDQU16(z.bfloats(a, b), z.To(at))
		return
	}
	for i, x := range [2]VecVirtual{a, b} {
		if z.Narrow {
			VCVTPS2PH(Imm(0), x, z.To(at+16*i))
		} else {
			VMOVUPS(x, z.To(at+16*i))
		}
	}
}

// bfloats rounds 32 numbers to words.
func (z *Kernel) bfloats(a, b VecVirtual) VecVirtual {
	if z.bf16 {
		return shortened(a, b)
	}
	return z.nearest(a, b)
}

// nearest rounds to nearest and ties to even: up where what is cut off is above
// one half, or is one half below an odd number.
func (z *Kernel) nearest(a, b VecVirtual) VecVirtual {
	high := Into(ZMM(), VMOVDQA64, a)
	VPERMT2W(b, z.upper, high)
	VPERMT2W(b, z.lower, a)
	VPTERNLOGD(Imm(OrAnd), z.ones, high, a)     // a | high & 1
	up := Into(K(), VPCMPUW, Imm(6), z.tops, a) // greater
	VPADDW(z.ones, high, up, high)
	return high
}

// RoundPlain rounds to words as integers: this much is added, and one more where the
// upper word is odd.
const RoundPlain = 0x7FFF

// Quieted makes every NaN 7FC00000.
func Quieted(x VecVirtual) {
	k := Into(K(), VCMPPS, Imm(3), x, x)
	VPBROADCASTD(Dwords(0x7FC00000), k, x)
}

// steps loads what rounding takes that is no single instruction.
func (z *Kernel) steps() {
	z.ones = All(0x00010001)
	z.upper = Load64(Words64(func(i int) int { return 2*i + 1 }))
	z.lower = Load64(Words64(func(i int) int { return 2 * i }))
}

// AVX512_BF16 has an instruction that rounds 32 numbers to words, to nearest and
// ties to even whatever is set. It takes subnormal numbers for zero, so a kernel
// has it only where none can come up: a float16 times an integer is zero, or 2^-24
// and more, or an eighth of that; and numbers of runs are ordinary.

// HasBF16 is set where kernels of that level are written.
var HasBF16 bool

const nearestWords = "VCVTNE2PS2BF16"

// shortened rounds low to the lower half of a register, and high to the upper
// one. A NaN keeps its sign and the upper bits of its payload.
func shortened(low, high VecVirtual) VecVirtual {
	dst := ZMM()
	Instruction(&ir.Instruction{
		Opcode:   nearestWords,
		Operands: []Op{low, high, dst},
		Inputs:   []Op{low, high},
		Outputs:  []Op{dst},
		ISA:      []string{"AVX512F", "AVX512_BF16"},
	})
	return dst
}

// encoded writes as numbers what the assembler has no name for.
func encoded(f *ir.File) error {
	for _, fn := range f.Functions() {
		var nodes []ir.Node
		for _, n := range fn.Nodes {
			i, ok := n.(*ir.Instruction)
			if !ok || i.Opcode != nearestWords {
				nodes = append(nodes, n)
				continue
			}
			var at [3]uint32
			for j, op := range i.Operands {
				at[j] = uint32(op.(Physical).PhysicalIndex())
			}
			code := evex(at[2], at[1], at[0])
			nodes = append(nodes,
				ir.NewComment(fmt.Sprintf("%s %s, %s, %s", i.Opcode, i.Operands[0].Asm(), i.Operands[1].Asm(), i.Operands[2].Asm())),
				&ir.Instruction{Opcode: "LONG", Operands: []Op{U32(code)}},
				&ir.Instruction{Opcode: "WORD", Operands: []Op{U16(code >> 32)}})
		}
		fn.Nodes = nodes
	}
	return nil
}

// evex is the six bytes of EVEX.512.F2.0F38.W0 72 /r: what is written, the source
// of the upper half and that of the lower one. Bits of registers are inverted but
// for those in the last byte.
func evex(dst, high, low uint32) uint64 {
	bit := func(v, n uint32) uint64 { return uint64(^v >> n & 1) }
	p := [6]uint64{
		0x62,
		bit(dst, 3)<<7 | bit(low, 4)<<6 | bit(low, 3)<<5 | bit(dst, 4)<<4 | 2,
		uint64(^high&15)<<3 | 1<<2 | 3,
		2<<5 | bit(high, 4)<<3,
		0x72,
		3<<6 | uint64(dst&7)<<3 | uint64(low&7),
	}
	var code uint64
	for i, b := range p {
		code |= b << (8 * i)
	}
	return code
}

// WithBF16 compiles as ever, and then writes those numbers.
func WithBF16() {
	HasBF16 = true
	pass.Compile = pass.Concat(pass.Compile, pass.Func(encoded))
}
