package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Codes are 32 numbers of few bits: one register of words, or to F32 two of
// dwords. Lookups take as many of their lower bits as the table has entries
// for, so that what stands above needs no mask.
type zcodes []VecVirtual

// codes widens 32 bytes of memory.
func (z *zkernel) codes(m Mem) zcodes {
	if !z.float32() {
		x := ZMM()
		VPMOVZXBW(m, x)
		return zcodes{x}
	}
	return zcodes{zunsigned(m), zunsigned(m.Offset(16))}
}

// above is the codes moved down by n bits.
func (z *zkernel) above(c zcodes, n int) (out zcodes) {
	for _, x := range c {
		y := ZMM()
		if z.float32() {
			VPSRLD(Imm(uint64(n)), x, y)
		} else {
			VPSRLW(Imm(uint64(n)), x, y)
		}
		out = append(out, y)
	}
	return out
}

// zunsigned widens sixteen bytes to dwords, zsigned signed ones.
func zunsigned(m Mem) VecVirtual {
	x := ZMM()
	VPMOVZXBD(m, x)
	return x
}

func zsigned(m Mem) VecVirtual {
	x := ZMM()
	VPMOVSXBD(m, x)
	return x
}

// zfloats makes numbers of dwords, in place.
func zfloats(x ...VecVirtual) {
	for _, x := range x {
		VCVTDQ2PS(x, x)
	}
}

// Tables.

// A ztable is what 16 or 32 codes come to, rounded and in the target's form: 32
// words, sixteen being there twice, or one or two registers of dwords.
type ztable []VecVirtual

// table16 rounds sixteen numbers, which it destroys.
func (z *zkernel) table16(x VecVirtual) ztable {
	if z.wide {
		if z.narrow {
			VCVTPS2PH(Imm(0), x, x.AsY())
			VINSERTI64X4(Imm(1), x.AsY(), x, x)
		}
		return ztable{x}
	}
	if z.short {
		return z.table32(x, x)
	}
	// One register of dwords: it is rounded by addition, one more where the
	// upper half is odd.
	odd, t := K(), zload(words64(func(i int) int { return 2*(i%16) + 1 }))
	VPTESTMD_BCST(dwords(0x10000), x, odd)
	VPADDD_BCST(dwords(roundPlain), x, x)
	VPADDD_BCST(dwords(1), x, odd, x)
	VPERMW(x, t, t)
	return ztable{t}
}

// table32 rounds 32 numbers, which it destroys.
func (z *zkernel) table32(a, b VecVirtual) ztable {
	if !z.wide {
		return ztable{z.bfloats(a, b)}
	}
	if !z.narrow {
		return ztable{a, b}
	}
	VCVTPS2PH(Imm(0), a, a.AsY())
	VCVTPS2PH(Imm(0), b, b.AsY())
	VINSERTI64X4(Imm(1), b.AsY(), a, a)
	return ztable{a}
}

// lookup writes what a table has for 32 codes.
func (z *zkernel) lookup(at int, c zcodes, t ztable) {
	for i, codes := range c {
		x := ZMM()
		switch {
		case !z.float32():
			VPERMW(t[0], codes, x)
		case len(t) == 1:
			VPERMD(t[0], codes, x)
		default:
			VMOVDQA64(codes, x)
			VPERMI2D(t[1], t[0], x)
		}
		VMOVDQU64(x, z.to(at+16*i))
	}
}
