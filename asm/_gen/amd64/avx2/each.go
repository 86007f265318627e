package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// An eachLoops decodes numbers with a scale and a zero point each: (q-z)*s. A subnormal product, or
// a product of a subnormal number, delays a float32 multiplication but not one of float64, where
// all products are exact. So rounds whose factors are zero or large enough, without NaN, are
// multiplied in float32; after another one, eachStay rounds use float64. The differences are
// float32's: one of normal numbers is subnormal only if both are far below all codes.
type eachLoops struct {
	*kernel
	a, b, n                 Register
	less, least, leastScale VecVirtual
	apart                   Mem
}

const (
	eachLeast = 60 // the least factor is 2^-60
	eachStay  = 16
)

func eachKernels() {
	for _, t := range Targets {
		name := "each" + t.Name + "AVX2"
		Entry(name, "each[%s]", t.Name)
		Frame(name, "func(dst *byte, src *float32, a *float32, b *float32, n int)", "joins 16 numbers with their scales n times.",
			"For 32 numbers q, scales a, zero points b:",
			"number = (q-b)*a, each step rounded to float32;",
			"if they are not ordinary, or one comes to NaN, some rounds in double precision.")
		e := &eachLoops{kernel: newKernel(t, false)}
		e.Dst, e.Src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
		e.a, e.b, e.n = Load(Param("a"), GP64()), Load(Param("b"), GP64()), Load(Param("n"), GP64())
		e.Align()
		e.apart = e.Local(64)
		e.less = Load32(Dwords(0xFFFFFFFF))
		e.least = Load32(Dwords((127-eachLeast)<<24 - 1))
		e.leastScale = Load32(Dwords((127-eachLeast)<<23 - 1))
		more, done, slow, slowly := NewLabel("more"), NewLabel("done"), NewLabel("slow"), NewLabel("slowly")
		more.Here()
		SUBQ(Imm(2), e.n)
		JLT(slow.Ref())
		e.ordinaryRounds(slow)
		e.next(2)
		TESTQ(e.n, e.n)
		JNZ(more.Ref())
		done.Here()
		End()
		slow.Here()
		Comment("Rounds in double precision.")
		ADDQ(Imm(2), e.n)
		stay := Into(GP64(), LEAQ, Mem{Base: e.n, Disp: -eachStay})
		e.add, e.up = Load32(Dwords(roundPlain)), Load32(Dwords(roundPlain+1))
		slowly.Here()
		e.anyRound()
		e.next(1)
		DECQ(e.n)
		JZ(done.Ref())
		CMPQ(e.n, stay)
		JGT(slowly.Ref())
		JMP(more.Ref())
	}
}

// next advances by some rounds.
func (e *eachLoops) next(rounds int) {
	for _, r := range []Register{e.Src, e.a, e.b} {
		ADDQ(U32(64*rounds), r)
	}
	ADDQ(U32(16*rounds*e.Width()), e.Dst)
}

// differences returns q-z of 16 numbers.
func (e *eachLoops) differences(at int) (x []VecVirtual) {
	PREFETCHT0(e.From(1024 + at)) // one line, of pages that come next too
	PREFETCHT0(Mem{Base: e.Dst, Disp: 512 + at/4*e.Width()})
	for i := range 2 {
		y := Into(YMM(), VMOVUPS, e.From(at+32*i))
		VSUBPS(Mem{Base: e.b, Disp: at + 32*i}, y, y)
		x = append(x, y)
	}
	return x
}

// ordinaryRounds writes 32 numbers, or jumps to slow. Twice a magnitude minus one is
// largest for zero.
func (e *eachLoops) ordinaryRounds(slow Place) {
	x, codes, scales, ok := append(e.differences(0), e.differences(64)...), YMM(), YMM(), GP32()
	VMOVDQU(e.least, codes)
	VMOVDQU(Mem{Base: e.a}, scales)
	for i, y := range x {
		m := Into(YMM(), VPADDD, y, y)
		VPADDD(e.less, m, m)
		VPMINUD(m, codes, codes)
		if i > 0 {
			VPMINSD(Mem{Base: e.a, Disp: 32 * i}, scales, scales)
		}
	}
	VPCMPEQD(e.least, codes, codes)
	VPCMPGTD(e.leastScale, scales, scales)
	VPAND(scales, codes, codes)
	VMOVMSKPS(codes, ok)
	CMPL(ok, Imm(0xFF))
	JNE(slow.Ref())
	var nan [2]VecVirtual
	for i, y := range x {
		VMULPS(Mem{Base: e.a, Disp: 32 * i}, y, y)
		if !e.Wide {
			split16(y)
		}
		if i%2 == 1 {
			nan[i/2] = YMM()
			VCMPPS(Imm(3), y, x[i-1], nan[i/2])
		}
	}
	VORPS(nan[1], nan[0], nan[0])
	VMOVMSKPS(nan[0], ok)
	TESTL(ok, ok)
	JNZ(slow.Ref())
	for i := 0; i < len(x); i += 2 {
		if e.Wide {
			e.store([2]VecVirtual(x[i:]), 8*i)
			continue
		}
		for _, y := range x[i : i+2] {
			VPSRLD(Imm(16), y, y)
		}
		VPACKUSDW(x[i+1], x[i], x[i])
		VPERMQ(Imm(quads), x[i], x[i])
		VMOVDQU(x[i], e.To(8*i))
	}
}

// split16 rounds x to a BF16 in its upper half, as [signedProduct] does.
func split16(x VecVirtual) {
	more := Into(YMM(), VMULPS, Floats(65537), x)
	left := Into(YMM(), VSUBPS, x, more)
	VSUBPS(left, more, x)
}

// anyRound writes any 16 numbers.
func (e *eachLoops) anyRound() {
	x := [2]VecVirtual(e.differences(0))
	for i, y := range x {
		VMOVUPS(y, e.apart.Offset(32*i))
	}
	for i, y := range x {
		scales := func(half int) Op { return Into(YMM(), VCVTPS2PD, Mem{Base: e.a, Disp: 32*i + 16*half}) }
		Narrow.Doubled(e.apart.Offset(32*i), scales, y)
		quieted(y)
	}
	e.store(x, 0)
}
