package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// MXFP4 and NVFP4: sixteen codes of E2M1 under a scale of which there are 256. A
// list has what they come to under each as words: the low bytes of sixteen, then
// the high ones. No product is computed.

// setFP4 keeps the list, and what an index takes: the places of its bytes.
func setFP4(at, shift func(e int) int) func(*zkernel) {
	return func(z *zkernel) {
		z.list = Load(Param("rows"), GP64())
		z.declare("low", func() VecVirtual { return all(0x0F0F0F0F) })
		z.declare("places", func() VecVirtual { return zload(bytes64(func(i int) int { return at(i / 2) })) })
		z.declare("shift", func() VecVirtual { return zload(dwords64(func(i int) int { return shift(2 * i) })) })
		z.declare("parts", func() VecVirtual { return zload(words64(func(i int) int { return 0x1000 + i/16*0x2020 })) })
	}
}

// rowOf is where the list has a row for the byte at off.
func (z *zkernel) rowOf(off int) Mem {
	i := GP64()
	MOVBQZX(z.from(off), i)
	SHLQ(Imm(5), i)
	return Mem{Base: z.list, Index: i, Scale: 1}
}

// fp4Rows writes 32 elements under two rows, sixteen words each, or one that is
// there twice.
func (z *zkernel) fp4Rows(at int, codes, rows VecVirtual) {
	x := ZMM()
	VPERMB(codes, z.shared["places"], x)
	VPSRLVD(z.shared["shift"], x, x)
	VPTERNLOGD(Imm(andOr), z.shared["parts"], z.shared["low"], x)
	z.placed(at, x, ztable{rows})
}

func mxfp4At(e int) int    { return e % 16 }
func mxfp4Shift(e int) int { return e / 16 * 4 }

func zmxfp4(z *zkernel) {
	codes := sixteen(z.from(1))
	rows := ZMM()
	VBROADCASTI64X4(z.rowOf(0), rows)
	z.fp4Rows(0, codes, rows)
}

func nvfp4At(e int) int    { return e/16*8 + e%8 }
func nvfp4Shift(e int) int { return e / 8 % 2 * 4 }

func znvfp4(z *zkernel) {
	for s := 0; s < 4; s += 2 {
		codes := sixteen(z.from(4 + 8*s))
		rows := ZMM()
		VMOVDQU32(z.rowOf(s), rows.AsY())
		VINSERTI64X4(Imm(1), z.rowOf(s+1), rows, rows)
		z.fp4Rows(16*s, codes, rows)
	}
}
