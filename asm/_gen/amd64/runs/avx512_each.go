package runs

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// fromMiddle is bits of the exponent of which numbers from 2^-63 on have one.
const fromMiddle = 0x60000000

// carefully is how many rounds are made in double precision for one that needs it.
const carefully = 32

// Each is numbers that have a scale and a zero point each: (q-z)*s, to BF16.
//
// Where no number but zero is near to what is subnormal they are as ever: of
// those from 2^-63 on the differences are 2^-87 and more, and scales from 2^-31 on
// then make no product subnormal. Where one is, or one of what they come to is NaN, some
// rounds are made in double precision, each step rounded to float32.
func Each() {
	z := Begin("each", ToBF16, ", a *float32, b *float32, n int", "joins 32 numbers with their scales n times.",
		"For 32 numbers q, scales a, zero points b: are they ordinary?",
		"number = (q-b)*a, each step rounded to float32;",
		"if not ordinary, or NaN, some rounds in double precision.")
	a, b, n := Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("n"), GP64())
	nearZero, leastScale := All(fromMiddle), All(2*(127-31)<<23)
	more, careful := NewLabel("more"), NewLabel("careful")
	numbers, scales, zeros := [2]Mem{z.From(0), z.From(64)}, [2]Mem{{Base: a}, {Base: a, Disp: 64}}, [2]Mem{{Base: b}, {Base: b, Disp: 64}}
	ahead := func() {
		PREFETCHT0(z.From(1024))
		PREFETCHT0(z.From(1088))
	}
	next := func() {
		ADDQ(U32(128), a)
		ADDQ(U32(128), b)
		z.Advance(128, 32)
	}
	more.Here()
	ahead()
	var x [2]VecVirtual
	for i := range x {
		s, twice, small, odd := Load64(scales[i]), ZMM(), K(), K()
		x[i] = Load64(numbers[i])
		either, tiny := ZMM(), K() // which of both numbers are below 2^-63
		VPORD(zeros[i], x[i], either)
		VPTESTNMD(nearZero, either, tiny)
		VPTESTMD(either, either, tiny, odd)
		VPADDD(s, s, twice)
		VPCMPUD(Imm(1), leastScale, twice, small)
		KORTESTW(small, odd)
		JNE(careful.Ref())
		VSUBPS(zeros[i], x[i], x[i])
		VMULPS(s, x[i], x[i])
	}
	nan := Into(K(), VCMPPS, Imm(3), x[0], x[1])
	KORTESTW(nan, nan)
	JNE(careful.Ref())
	z.Put(0, x[0], x[1])
	next()
	DECQ(n)
	JNZ(more.Ref())
	End()

	careful.Here()
	Comment("Rounds in double precision.")
	rounds := Into(GP64(), MOVQ, U32(carefully))
	CMPQ(n, rounds)
	CMOVQLT(n, rounds)
	SUBQ(rounds, n)
	Repeat("round", rounds, func() {
		ahead()
		for i := range x {
			var d [2]VecVirtual
			for h := range d {
				at, y := 32*h, ZMM()
				d[h] = Into(ZMM(), VCVTPS2PD, numbers[i].Offset(at))
				VCVTPS2PD(zeros[i].Offset(at), y)
				VSUBPD(y, d[h], d[h])
				VCVTPD2PS(d[h], d[h].AsY())
				VCVTPS2PD(d[h].AsY(), d[h])
				VCVTPS2PD(scales[i].Offset(at), y)
				VMULPD(y, d[h], d[h])
			}
			x[i] = ZMM()
			InSingles(d, x[i])
		}
		z.Put(0, x[0], x[1])
		next()
	})
	TESTQ(n, n)
	JNZ(more.Ref())
	End()
}
