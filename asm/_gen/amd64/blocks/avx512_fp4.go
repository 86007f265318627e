package blocks

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// FP4 is sixteen codes of E2M1 under a scale of which there are 256. A
// list has what they come to under each as words: the low bytes of sixteen, then
// the high ones. No product is computed.
var FP4 = []Layout{
	{Name: "mxfp4", Kinds: []string{"MXFP4=&mxfp4Halves[0][0][0]"}, Takes: ", rows *byte", Elems: 32, Bytes: 17, To: []Target{ToF16}, Block: mxfp4,
		Says: []string{"MXFP4: e E8M0, 32 nibbles q", "number = rows[e][q]"}},
	{Name: "nvfp4", Kinds: []string{"NVFP4=&nvfp4Halves[0][0][0]"}, Takes: ", rows *byte", Elems: 64, Bytes: 36, To: []Target{ToF16}, Block: nvfp4,
		Says: []string{"NVFP4: 4 scales e E4M3 without a sign, 64 nibbles q", "number = rows[e][q], a scale for 16 of them"}},
}

// fp4 keeps what an index takes: of each of 32 elements the byte that has its code, and
// how far up in it.
type fp4 struct {
	*Kernel
	rows                      Register
	low, places, shift, parts VecVirtual
}

func newFP4(z *Kernel, at, shift func(e int) int) *fp4 {
	return &fp4{z, Load(Param("rows"), GP64()), All(0x0F0F0F0F),
		Load64(Bytes64(func(i int) int { return at(i / 2) })),
		Load64(Dwords64(func(i int) int { return shift(2 * i) })),
		Load64(Words64(func(i int) int { return 0x1000 + i/16*0x2020 }))}
}

// row is where the list has a row for the scale at off.
func (f *fp4) row(off int) Mem {
	i := Into(GP64(), MOVBQZX, f.From(off))
	SHLQ(Imm(5), i)
	return Mem{Base: f.rows, Index: i, Scale: 1}
}

// write writes 32 elements under two rows, sixteen words each, or one that is
// there twice.
func (f *fp4) write(at int, codes, rows VecVirtual) {
	x := Into(ZMM(), VPERMB, codes, f.places)
	VPSRLVD(f.shift, x, x)
	VPTERNLOGD(Imm(AndOr), f.parts, f.low, x)
	f.Placed(at, x, Table{rows})
}

func mxfp4(z *Kernel) func() {
	f := newFP4(z, func(e int) int { return e % 16 }, func(e int) int { return e / 16 * 4 })
	return func() {
		codes, rows := Sixteen(f.From(1)), ZMM()
		VBROADCASTI64X4(f.row(0), rows)
		f.write(0, codes, rows)
	}
}

func nvfp4(z *Kernel) func() {
	f := newFP4(z, func(e int) int { return e/16*8 + e%8 }, func(e int) int { return e / 8 % 2 * 4 })
	return func() {
		for s := 0; s < 4; s += 2 {
			codes, rows := Sixteen(f.From(4+8*s)), ZMM()
			VMOVDQU32(f.row(s), rows.AsY())
			VINSERTI64X4(Imm(1), f.row(s+1), rows, rows)
			f.write(16*s, codes, rows)
		}
	}
}
