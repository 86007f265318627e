package avx2

import (
	"fmt"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// columnsKernels writes kernels that decode eight columns of words. The codes of a column, eight
// nibbles of a word or four bytes of each of two, become consecutive in a row of the output:
// (q-z)*s, with the numbers of a code's group at its offset. Scales are negated. To F32 they are
// doubles where products may be subnormal: the product is exact, and rounded once.
func columnsKernels() {
	for _, t := range Targets {
		columnsKernel("columns", 4, t)
		columnsKernel("byteColumns", 8, t)
	}
}

// A columned is a kernel with loops over words.
type columned struct {
	*kernel
	offsets, scales, zeros Register
	bits                   int
	to                     Lattice
	step, n                Register
}

func columnsKernel(stem string, bits int, t Target) {
	Entry(stem+t.Name+"AVX2", "columns[%d][%s]", bits/4-1, t.Name)
	Frame(stem+t.Name+"AVX2", "func(dst *byte, src *byte, offsets *uint32, scales *float32, zeros *float32, dstStride int, srcStride int, doubles bool, n int)", "decodes eight codes of each of eight columns, n times.",
		"For each code q of eight columns, eight below each other:",
		"x = (q-zero)*scale, of its group and column, each step rounded to float32;",
		"dst = x, rounded to "+t.Name+", transposed: those of a column are a row.")
	k := &columned{kernel: newKernel(t, false), bits: bits}
	k.Dst, k.Src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	k.Align()
	if k.begin(true); !k.Wide {
		k.spill = k.Local(32)
	}
	k.offsets = Load(Param("offsets"), GP64())
	k.scales, k.zeros = Load(Param("scales"), GP64()), Load(Param("zeros"), GP64())
	k.to = LatticeOf(k.Dst, Load(Param("dstStride"), GP64()), 8)
	k.step, k.n = Load(Param("srcStride"), GP64()), Load(Param("n"), GP64())
	inDoubles := NewLabel("doubles")
	if t == ToF32 {
		doubles := Load(Param("doubles"), GP8())
		TESTB(doubles, doubles)
		JNZ(inDoubles.Ref())
	}
	k.loop(NewLabel("more"), func(x VecVirtual, at Register) {
		VMULPS(Mem{Base: k.scales, Index: at, Scale: 1}, x, x)
	})
	if t == ToF32 {
		Comment("Scales that come as doubles.")
		k.loop(inDoubles, func(x VecVirtual, at Register) {
			VMOVUPS(x, k.spill) // that memory widens numbers spares a port
			Narrow.Doubled(k.spill, func(i int) Op { return Mem{Base: k.scales, Index: at, Scale: 2, Disp: 32 * i} }, x)
		})
	}
}

// loop writes a loop over all words, up to the kernel's end.
func (k *columned) loop(again Place, times func(x VecVirtual, at Register)) {
	again.Here()
	var words VecVirtual
	var x [8]VecVirtual
	for i := range x {
		if i*k.bits%32 == 0 {
			words = Load32(k.From(0))
			ADDQ(k.step, k.Src)
		}
		at := GP64()
		MOVL(Mem{Base: k.offsets, Disp: 4 * i}, at.As32())
		x[i] = k.codeOf(words, k.bits, i*k.bits%32)
		VSUBPS(Mem{Base: k.zeros, Index: at, Scale: 1}, x[i], x[i])
		times(x[i], at)
		if k.Wide {
			VXORPS(k.minus, x[i], x[i])
			continue
		}
		if k.nearest(x[i]); i%2 == 1 {
			x[i/2] = pack(x[i-1], x[i])
		}
	}
	switch {
	case k.Narrow:
		for i, y := range x {
			x[i] = Into(XMM(), VCVTPS2PH, Imm(0), y)
		}
		transposeWords(x, k.to)
	case k.Wide:
		transposeDwords(x, k.to)
	default:
		transposePairs([4]VecVirtual(x[:4]), k.to)
	}
	ADDQ(Imm(32), k.offsets)
	k.to.Advance(U32(8 * k.Width()))
	DECQ(k.n)
	JNZ(again.Ref())
	End()
}

// codeOf returns the code at a bit of eight words, as float32.
func (k *kernel) codeOf(words VecVirtual, bits, at int) VecVirtual {
	y, from := YMM(), words
	if at > 0 {
		VPSRLD(Imm(uint64(at)), words, y)
		from = y
	}
	if at < 32-bits {
		VPAND(Dwords(1<<bits-1), from, y)
	}
	VCVTDQ2PS(y, y)
	return y
}

// transposePairs writes four registers of eight pairs of words as eight rows.
func transposePairs(p [4]VecVirtual, to Lattice) {
	for i, first := range []func(...Op){VPUNPCKLDQ, VPUNPCKHDQ} {
		a, b := YMM(), YMM()
		first(p[1], p[0], a)
		first(p[3], p[2], b)
		for j, second := range []func(...Op){VPUNPCKLQDQ, VPUNPCKHQDQ} {
			y := YMM()
			second(b, a, y)
			VMOVDQU(y.AsX(), to.Row(2*i+j))
			VEXTRACTI128(Imm(1), y, to.Row(4+2*i+j))
		}
	}
}

// expandKernels writes kernels that put numbers at the set bits of a mask, and zeros
// elsewhere: eight for each byte of the mask, whose table has the index of each number, C0
// for none. They stop before eight numbers would be read past the last.
func expandKernels() {
	for _, size := range []int{1, 2, 4} {
		name := fmt.Sprintf("expand%dAVX2", size)
		Entry(name, "expand[%d]", size)
		Frame(name, "func(dst *byte, src *byte, last *byte, mask *byte, n int) int", "expands numbers by up to n bytes of a mask and says how many are left.",
			"For each byte of the mask: order = expansions[byte];",
			"eight numbers = src[order], or zero where that is C0;",
			"src moves on by as many numbers as bits are set.")
		dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
		last, mask, n := Load(Param("last"), GP64()), Load(Param("mask"), GP64()), Load(Param("n"), GP64())
		table := Into(GP64(), LEAQ, Variable("expansions"))
		done := NewLabel("done")
		Repeat("more", n, func() {
			CMPQ(src, last)
			JHI(done.Ref())
			bits := Into(GP64(), MOVBQZX, Mem{Base: mask})
			count := Into(GP64(), POPCNTQ, bits)
			order := Mem{Base: table, Index: bits, Scale: 8}
			x, p := XMM(), XMM()
			switch size {
			case 1:
				VMOVQ(order, p)
				VMOVQ(Mem{Base: src}, x)
				VPSHUFB(p, x, x)
				VMOVQ(x, Mem{Base: dst})
			case 2: // twice the place, and the byte behind it
				VPMOVZXBW(order, p)
				VPMULLW(Words(0x0202), p, p)
				VPADDW(Words(0x0100), p, p)
				VMOVDQU(Mem{Base: src}, x)
				VPSHUFB(p, x, x)
				VMOVDQU(x, Mem{Base: dst})
			case 4:
				x, p := YMM(), YMM()
				VPMOVZXBD(order, p)
				VPERMD(Mem{Base: src}, p, x)
				VPSLLD(Imm(24), p, p)
				VPSRAD(Imm(31), p, p)
				VPANDN(x, p, x)
				VMOVDQU(x, Mem{Base: dst})
			}
			LEAQ(Mem{Base: src, Index: count, Scale: uint8(size)}, src)
			INCQ(mask)
			ADDQ(Imm(uint64(8*size)), dst)
		})
		done.Here()
		Store(n, ReturnIndex(0))
		End()
	}
}

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
