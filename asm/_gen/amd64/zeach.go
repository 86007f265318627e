package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// zeachKernels is numbers that have a scale and a second number each: (q-z)*s.
//
// Where no number but zero is near to what is subnormal they are as ever: of
// those from 2^-63 on the differences are 2^-87 and more, and scales from 2^-31 on
// then make no product subnormal. Where one is, some rounds multiply in double
// precision, which rounds once too. A difference is subnormal only of two numbers that
// are small; those are subtracted in double precision too.
func zeachKernels() {
	for _, t := range ztargets() {
		zeachKernel(t)
	}
}

// carefully is how many rounds are made in double precision for one that needs it.
const carefully = 32

func zeachKernel(t int) {
	z := zbegin("each", t, ", a *float32, b *float32, n int", "joins 32 numbers with their scales n times.", same)
	a, b, n := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("n"), GP64())
	near, little := all(fromMiddle), all(2*(127-31)<<23)
	numbers, scales, zeros := [2]Mem{z.from(0), z.from(64)}, [2]Mem{{Base: a}, {Base: a, Disp: 64}}, [2]Mem{{Base: b}, {Base: b, Disp: 64}}
	next := func() {
		ADDQ(U32(128), a)
		ADDQ(U32(128), b)
		z.advance(128, 32)
	}
	// small is which of both numbers are below 2^-63.
	small := func(x VecVirtual, zero Mem) (either VecVirtual, k OpmaskVirtual) {
		either, k = ZMM(), K()
		VPORD(zero, x, either)
		VPTESTNMD(near, either, k)
		return either, k
	}
	// put leaves for a label where there is a NaN, and is come back to by another.
	put := func(name, rare string, x [2]VecVirtual) {
		nan := K()
		VCMPPS(Imm(3), x[0], x[1], nan)
		KORTESTW(nan, nan)
		JNE(LabelRef(rare))
		Label(name)
		z.put(0, x[0], x[1])
	}
	quieted := func(name string, x [2]VecVirtual) {
		zquieted(x[0])
		zquieted(x[1])
		JMP(LabelRef(name))
	}
	Label("more")
	PREFETCHT0(z.from(1024))
	PREFETCHT0(z.from(1088))
	var x [2]VecVirtual
	for i := range x {
		s, twice, few, odd := zload(scales[i]), ZMM(), K(), K()
		x[i] = zload(numbers[i])
		either, tiny := small(x[i], zeros[i])
		VPTESTMD(either, either, tiny, odd)
		VPADDD(s, s, twice)
		VPCMPUD(Imm(1), little, twice, few)
		KORTESTW(few, odd)
		JNE(LabelRef("careful"))
		VSUBPS(zeros[i], x[i], x[i])
		VMULPS(s, x[i], x[i])
	}
	put("write", "nan", x)
	next()
	DECQ(n)
	JNZ(LabelRef("more"))
	end()

	Label("nan")
	quieted("write", x)
	Label("careful")
	z.inSteps()
	rounds := GP64()
	MOVQ(U32(carefully), rounds)
	CMPQ(n, rounds)
	CMOVQLT(n, rounds)
	SUBQ(rounds, n)
	room := GP64()
	normal := all(0x7F800000)
	LEAQ(AllocLocal(192).Offset(63), room)
	ANDQ(I8(-64), room)
	differences := [2]Mem{{Base: room}, {Base: room, Disp: 64}}
	Label("round")
	PREFETCHT0(z.from(1024))
	PREFETCHT0(z.from(1088))
	var both [2]OpmaskVirtual // which may be: of those that a small number is taken off
	for i := range both {
		zero, tiny := zload(zeros[i]), K()
		both[i] = K()
		VPTESTNMD(near, zero, tiny)
		VPTESTMD(normal, zero, tiny, both[i])
	}
	KORTESTW(both[0], both[1])
	JNE(LabelRef("apart"))
	for i := range both {
		x := zload(numbers[i])
		VSUBPS(zeros[i], x, x)
		VMOVUPS(x, differences[i])
	}
	Label("join")
	var p [2]VecVirtual
	var halves [4]VecVirtual
	for i := range halves {
		d, e := ZMM(), ZMM()
		VCVTPS2PD(differences[i/2].Offset(i%2*32), d)
		VCVTPS2PD(scales[i/2].Offset(i%2*32), e)
		VMULPD(e, d, d)
		VCVTPD2PS(d, d.AsY())
		halves[i] = d
	}
	if z.wide {
		nans := [2]OpmaskVirtual{K(), K()}
		for i, nan := range nans {
			VCMPPS(Imm(3), halves[2*i].AsY(), halves[2*i+1].AsY(), nan)
		}
		KORTESTW(nans[0], nans[1])
		JNE(LabelRef("nans"))
		Label("finish")
		for i, x := range halves {
			if z.narrow {
				VCVTPS2PH(Imm(0), x.AsY(), z.to(8*i))
			} else {
				VMOVUPS(x.AsY(), z.to(8*i))
			}
		}
	} else {
		for i := range p {
			p[i] = halves[2*i]
			VINSERTF64X4(Imm(1), halves[2*i+1].AsY(), p[i], p[i])
		}
		put("finish", "nans", p)
	}
	next()
	DECQ(rounds)
	JNZ(LabelRef("round"))
	TESTQ(n, n)
	JNZ(LabelRef("more"))
	end()

	Label("nans")
	if z.wide {
		for _, x := range halves {
			zquieted(x)
		}
		JMP(LabelRef("finish"))
	} else {
		quieted("finish", p)
	}

	Label("apart")
	for i := range both {
		for h := range 2 {
			d, e := ZMM(), ZMM()
			VCVTPS2PD(numbers[i].Offset(32*h), d)
			VCVTPS2PD(zeros[i].Offset(32*h), e)
			VSUBPD(e, d, d)
			VCVTPD2PS(d, d.AsY())
			VMOVUPS(d.AsY(), differences[i].Offset(32*h))
		}
	}
	JMP(LabelRef("join"))
}
