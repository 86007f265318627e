package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Faint shifts, as in faint.go.

func (z *zruns) ifFaint() { ifBelow(Mem{Base: z.b}, U32(faintMost-1), "faint") }

// faint is the loop of runs that have such a shift, and no small scale. The product
// of code zero is blended to F32, and else written over the words; zero is what
// makes numbers of codes, whose lowest byte is that code.
func (z *zruns) faint(p pair, flip, zero VecVirtual, chunk func(join func(x VecVirtual)) func(*zruns)) {
	Label("faint")
	VMOVAPS(z.number(Mem{Base: z.a}, true), p.d)
	bits, m, d, ofZero := GP32(), XMM(), XMM(), ZMM()
	MOVL(Mem{Base: z.b}, bits)
	XORL(U32(0x80000000), bits)
	VMOVD(bits, m)
	VCVTPS2PD(m, m)
	VCVTPS2PD(p.d.AsX(), d)
	VMULPD(m, d, d)
	VCVTPD2PSX(d, d)
	if z.float32() {
		VBROADCASTSS(d, ofZero)
		z.slowly("faintly", chunk(func(x VecVirtual) {
			k := K()
			VPTESTNMD(x, x, k)
			VMULPS(p.d, x, x)
			VMOVAPS(ofZero, k, x)
		}))
		JMP(LabelRef("next"))
		return
	}
	VMOVD(d, bits)
	XORL(U32(0x80000000), bits)
	if z.narrow {
		VMOVD(bits, d)
		VCVTPS2PH(Imm(0), d, d)
		VPBROADCASTW(d, ofZero)
	} else {
		odd := GP32()
		MOVL(bits, odd)
		SHRL(Imm(16), odd)
		ANDL(Imm(1), odd)
		LEAL(Mem{Base: bits, Index: odd, Scale: 1, Disp: 0x7FFF}, bits)
		SHRL(Imm(16), bits)
		VPBROADCASTW(bits, ofZero)
	}
	code := YMM()
	VPBROADCASTB(zero.AsX(), code)
	VPXORD(flip, code, code)
	each := chunk(func(x VecVirtual) { VMULPS(p.d, x, x) })
	z.slowly("faintly", func(z *zruns) {
		k := K()
		each(z)
		VPCMPEQB(z.from(0), code, k)
		VMOVDQU16(ofZero, k, z.to(0))
	})
	JMP(LabelRef("next"))
}

// smallShifted is shifted bytes under a small scale. Beside it a faint shift is as
// good as a larger one with which zero comes to zero too. What an infinite shift or NaN
// gives needs no scale but a sign.
func (z *zruns) smallShifted(plain pair, codes func(*zruns) [2]VecVirtual) {
	size, sign, one, least := GP32(), GP32(), GP32(), GP32()
	MOVL(Mem{Base: z.b}, size)
	MOVL(size, sign)
	and32(size, 0x7FFFFFFF)
	XORL(size, sign)
	MOVL(Mem{Base: z.a}, one)
	and32(one, 0x80000000)
	XORL(U32(0x80000000|127<<23), one)
	CMPL(size, U32(0x7F800000))
	JCC(LabelRef("plainly"))
	faint := uint32(127-50) << 23
	if z.narrow { // products are zeros
		faint = (127 - 26) << 23
		CMPL(size, U32((127+30)<<23))
		JCC(LabelRef("shifted"))
		SUBL(U32(90<<23), one)
	}
	MOVL(U32(faint), least)
	TESTL(size, size)
	CMOVLEQ(size, least)
	CMPL(size, least)
	CMOVLCS(least, size)
	if z.narrow {
		Label("plainly")
		ORL(sign, size)
		VMOVAPS(z.spread(one), plain.d)
		VMOVAPS(z.spread(size), plain.m)
		JMP(LabelRef("chunk"))
		Label("shifted")
	}
	p := pair{zenlargedAt(Mem{Base: z.a}, raisedShift), ZMM()}
	ORL(sign, size)
	VPBROADCASTD(size, p.m)
	var r zraised
	before := z.sign
	z.sign = same
	if z.narrow {
		r.least = zsingle(floats(pow2(-raisedShift)))
	} else {
		r = newZraised()
	}
	z.slowly("slowly", func(z *zruns) {
		x := codes(z)
		for _, x := range x {
			VSUBPS(p.m, x, x)
			if z.narrow {
				VMULPS(p.d, x, x)
				VMULPS(r.least, x, x)
			} else {
				r.product(p.d, x)
			}
		}
		if z.narrow {
			z.put(0, x[0], x[1])
		} else {
			r.put(z.zkernel, 0, x)
		}
	})
	z.sign = before
	if !z.narrow {
		JMP(LabelRef("next"))
		Label("plainly")
		ORL(sign, size)
		VMOVAPS(z.spread(one), plain.d)
		VMOVAPS(z.spread(size), plain.m)
		JMP(LabelRef("chunk"))
	}
}
