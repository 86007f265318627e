package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zfloat8 is codes of eight bits that a table of exact numbers explains: the
// words of codes without a sign as bfloat16, their lower bytes and their upper ones;
// then a code of NaN, which in some formats is that of minus zero.
type zfloat8 struct {
	zruns
	lower, upper zhalfPlane
	zfound
	order, zero VecVirtual
	nanUpper    VecVirtual // FF
}

// A zhalfPlane is 128 bytes by their index, in two registers.
type zhalfPlane [2]VecVirtual

func zhalfPlaneAt(m Mem) zhalfPlane { return zhalfPlane{zload(m), zload(m.Offset(64))} }

// zfloat8Kernels multiplies each code by itself: to F32 and F16. To BF16 there are
// other kernels for ordinary scales, and this one is for what they leave.
func zfloat8Kernels() {
	for t := range targets {
		zfloat8Kernel(t)
	}
}

func zfloat8Kernel(t int) {
	f := &zfloat8{}
	f.zkernel = zbegin("float8", t, ", a *float32, b *float32, table *byte, chunks int, n int", "decodes n runs of chunks of 32 codes.")
	f.align()
	f.a, f.chunks = Load(Param("a"), GP64()), GP64()
	table := Mem{Base: Load(Param("table"), GP64())}
	f.lower, f.upper = zhalfPlaneAt(table), zhalfPlaneAt(table.Offset(128))
	f.order = zload(dwords64(func(i int) int { return i%4*4 + i/4 }))
	f.zfound, f.nanUpper, f.zero = newFound(table.Offset(256)), all(0xFFFFFFFF), ZMM()
	VPXORD(f.zero, f.zero, f.zero)
	n := Load(Param("n"), GP64())
	exact, next := own("exact"), own("next")
	loop := func(name string, product func(x [2]VecVirtual)) {
		write := func(codes int) func() { return func() { f.write(codes, name+"Found", product) } }
		zpairs(f.zkernel, name, f.chunks, 32, 32, write(64), write(32))
	}

	Label("run")
	Load(Param("chunks"), f.chunks)
	if t != 1 {
		ordinaryScale.unless(Mem{Base: f.a}, exact)
		// All NaN of codes have the sign, and products of the other sign.
		bits, scale, tops := GP32(), ZMM(), all(0x80000000)
		MOVL(Mem{Base: f.a}, bits)
		XORL(U32(0x80000000), bits)
		VPBROADCASTD(bits, scale)
		loop("ordinary", func(x [2]VecVirtual) {
			for _, x := range x {
				VMULPS(scale, x, x)
				VXORPS(tops, x, x)
			}
		})
		JMP(LabelRef(next))
		Label(exact)
	}
	e := newExact(f.zkernel, joinScale, Mem{Base: f.a}, Mem{}, Mem{})
	loop("exact", e.numbers)
	Label(next)
	ADDQ(Imm(4), f.a)
	DECQ(n)
	JNZ(LabelRef("run"))
	end()
}

// write writes 64 numbers, or 32.
func (f *zfloat8) write(n int, name string, product func(x [2]VecVirtual)) {
	codes := ordered(n, f.from(0), f.order, VPERMD)
	low, high := f.find(codes, f.lower, f.upper, f.nanUpper, orAnd, own(name))
	// Dwords in the order that these bring back.
	a, b := ZMM(), ZMM()
	VPUNPCKLBW(high, low, a)
	VPUNPCKHBW(high, low, b)
	for i, x := range []VecVirtual{a, b}[:n/32] {
		both := [2]VecVirtual{ZMM(), ZMM()}
		VPUNPCKLWD(x, f.zero, both[0])
		VPUNPCKHWD(x, f.zero, both[1])
		product(both)
		f.put(32*i, both[0], both[1])
	}
}

// A zfound is what looking up codes with a sign takes.
type zfound struct {
	sign, nan, nanLower VecVirtual // of all bytes; the code of NaN; C0
	code                Mem        // that code
}

// newFound takes where the code of NaN is that no table has. FF is one that they have.
func newFound(code Mem) zfound {
	f := zfound{all(0x80808080), ZMM(), all(0xC0C0C0C0), code}
	VPBROADCASTB(code, f.nan)
	return f
}

// find looks 64 codes up: their upper bytes get the sign that codes have,
// or as signed says keep it there alone. NaN has one already, or none. The name is of a
// label. Codes change their sign first as turn says.
func (f *zfound) find(codes VecVirtual, lower, upper zhalfPlane, nanUpper VecVirtual, signed uint64, name string, turn ...VecVirtual) (low, high VecVirtual) {
	low, high = ZMM(), ZMM()
	VMOVDQA64(codes, low)
	for _, t := range turn {
		VPXORD(t, codes, low)
	}
	VMOVDQA64(low, high)
	VPERMI2B(upper[1], upper[0], high)
	VPTERNLOGD(Imm(signed), f.sign, low, high)
	VPERMI2B(lower[1], lower[0], low)
	CMPB(f.code, I8(-1))
	JEQ(LabelRef(name))
	nan := K()
	VPCMPEQB(f.nan, codes, nan)
	VMOVDQU8(nanUpper, nan, high)
	VMOVDQU8(f.nanLower, nan, low)
	Label(name)
	return low, high
}
