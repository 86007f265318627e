package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// MXFP4 and NVFP4: sixteen codes of E2M1 under a scale of which there are 256. To
// BF16 a list has what they come to under each: the low bytes of sixteen numbers,
// then the high ones.

// setFP4 keeps the list of scales, or of rows, and what an index takes: the places
// of its bytes.
func setFP4(name string, at func(e int) int) func(*zkernel) {
	return func(z *zkernel) {
		z.list = GP64()
		if z.wide {
			LEAQ(variable(name+"Scales"), z.list)
			return
		}
		LEAQ(variable(name+"Tables"), z.list)
		z.declare("low", func() VecVirtual { return all(0x0F0F0F0F) })
		z.declare("places", func() VecVirtual { return zload(bytes64(func(i int) int { return at(i / 2) })) })
	}
}

// rowOf is where the list has a row for the byte at off.
func (z *zkernel) rowOf(off int) Mem {
	i := GP64()
	MOVBQZX(z.from(off), i)
	if z.wide {
		return Mem{Base: z.list, Index: i, Scale: 4}
	}
	SHLQ(Imm(5), i)
	return Mem{Base: z.list, Index: i, Scale: 1}
}

// fp4Of is the sixteen numbers under a scale.
func (z *zkernel) fp4Of(scale Mem) VecVirtual {
	x := zvalues(fp4Values)
	VMULPS_BCST(scale, x, x)
	return x
}

// fp4Rows writes 32 elements under two rows, sixteen words each, or one that is
// there twice.
func (z *zkernel) fp4Rows(at int, codes, rows VecVirtual, shift func(e int) int) {
	x := ZMM()
	VPERMB(codes, z.shared["places"], x)
	VPSRLVD(dwords64(func(i int) int { return shift(2 * i) }), x, x)
	VPTERNLOGD(Imm(andOr), words64(func(i int) int { return 0x1000 + i/16*0x2020 }), z.shared["low"], x)
	z.placed(at, x, ztable{rows})
}

func mxfp4At(e int) int    { return e % 16 }
func mxfp4Shift(e int) int { return e / 16 * 4 }

func zmxfp4(z *zkernel) {
	codes := sixteen(z.from(1))
	if z.wide {
		z.lookup(0, z.picked(codes, mxfp4At, mxfp4Shift), z.table16(z.fp4Of(z.rowOf(0))))
		return
	}
	rows := ZMM()
	VBROADCASTI64X4(z.rowOf(0), rows)
	z.fp4Rows(0, codes, rows, mxfp4Shift)
}

func nvfp4At(e int) int    { return e/16*8 + e%8 }
func nvfp4Shift(e int) int { return e / 8 % 2 * 4 }

func znvfp4(z *zkernel) {
	for s := 0; s < 4; s += 2 {
		codes := sixteen(z.from(4 + 8*s))
		if z.wide {
			z.fp4Wide(16*s, z.picked(codes, nvfp4At, nvfp4Shift), z.fp4Of(z.rowOf(s)), z.fp4Of(z.rowOf(s+1)))
			continue
		}
		rows := ZMM()
		VMOVDQU32(z.rowOf(s), rows.AsY())
		VINSERTI64X4(Imm(1), z.rowOf(s+1), rows, rows)
		z.fp4Rows(16*s, codes, rows, nvfp4Shift)
	}
}

// fp4Wide writes sixteen codes under one scale and sixteen under another.
func (z *zkernel) fp4Wide(at int, c zcodes, a, b VecVirtual) {
	if z.float32() {
		z.lookup(at, c[:1], z.table16(a))
		z.lookup(at+16, c[1:], z.table16(b))
		return
	}
	VPANDD_BCST(dwords(0x000F000F), c[0], c[0])
	VPORD(words64(func(i int) int { return i / 16 * 16 }), c[0], c[0])
	z.lookup(at, c, z.table32(a, b))
}
