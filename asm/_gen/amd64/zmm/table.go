package zmm

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A Table is what 16 or 32 codes come to, rounded and in the target's form: 32
// words, sixteen being there twice, or one or two registers of dwords.
type Table []VecVirtual

// Table16 rounds sixteen numbers, which it destroys.
func (z *Kernel) Table16(x VecVirtual) Table {
	if z.Wide {
		if z.Narrow {
			VCVTPS2PH(Imm(0), x, x.AsY())
			VINSERTI64X4(Imm(1), x.AsY(), x, x)
		}
		return Table{x}
	}
	// One register of dwords: it is rounded by addition, one more where the
	// upper half is odd.
	odd, t := K(), Load64(Words64(func(i int) int { return 2*(i%16) + 1 }))
	VPTESTMD_BCST(Dwords(0x10000), x, odd)
	VPADDD_BCST(Dwords(RoundPlain), x, x)
	VPADDD_BCST(Dwords(1), x, odd, x)
	VPERMW(x, t, t)
	return Table{t}
}

// Table32 rounds 32 numbers, which it destroys.
func (z *Kernel) Table32(a, b VecVirtual) Table {
	if !z.Wide {
		return Table{z.nearest(a, b)}
	}
	if !z.Narrow {
		return Table{a, b}
	}
	VCVTPS2PH(Imm(0), a, a.AsY())
	VCVTPS2PH(Imm(0), b, b.AsY())
	VINSERTI64X4(Imm(1), b.AsY(), a, a)
	return Table{a}
}

// Lookup writes what a table has for 32 codes.
func (z *Kernel) Lookup(at int, c Codes, t Table) {
	for i, codes := range c {
		x := ZMM()
		switch {
		case z.Words():
			VPERMW(t[0], codes, x)
		case len(t) == 1:
			VPERMD(t[0], codes, x)
		default:
			VMOVDQA64(codes, x)
			VPERMI2D(t[1], t[0], x)
		}
		VMOVDQU64(x, z.To(at+16*i))
	}
}

// Single is the float32 at m in all lanes.
func Single(m Mem) VecVirtual {
	return Into(ZMM(), VPBROADCASTD, m)
}

// Half is the float16 at m in all lanes.
func Half(m Mem) VecVirtual {
	h := Into(YMM(), VPBROADCASTW, m)
	return Into(ZMM(), VCVTPH2PS, h)
}

// Times is sixteen small integers in dwords, as floats, times d.
func Times(x, d VecVirtual) {
	VCVTDQ2PS(x, x)
	VMULPS(d, x, x)
}

// A Scales is memory for sixteen float32.
type Scales struct{ At Mem }

// Keep stores them.
func Keep(z *Kernel, x VecVirtual) Scales {
	s := Scales{z.Room(64)}
	VMOVUPS(x, s.At)
	return s
}

// By is x times scale i.
func (s Scales) By(x VecVirtual, i int) VecVirtual {
	return Into(ZMM(), VMULPS_BCST, s.At.Offset(4*i), x)
}
