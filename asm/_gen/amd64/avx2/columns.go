package avx2

import (
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
