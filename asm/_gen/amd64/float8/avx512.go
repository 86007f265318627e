// Package float8 is small floats of eight bits in runs under a scale.
package float8

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/lookup"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A kernel is codes of eight bits that a table of exact numbers explains: the
// words of codes without a sign as bfloat16, their lower bytes and their upper ones;
// then a code of NaN, which in some formats is that of minus zero.
type kernel struct {
	*Kernel
	a, chunks    Register
	lower, upper halfPlane
	found
	order, zero VecVirtual
	nanUpper    VecVirtual // FF
}

// A halfPlane is 128 bytes by their index, in two registers.
type halfPlane [2]VecVirtual

func halfPlaneAt(m Mem) halfPlane { return halfPlane{Load64(m), Load64(m.Offset(64))} }

// AVX512 writes kernels that multiply each code by itself: to F32 and F16. To BF16 there are
// other kernels for ordinary scales, and this one is for what they leave.
func AVX512() {
	for _, t := range Targets {
		each(t)
	}
	normal()
	long()
}

func each(t Target) {
	f := &kernel{}
	f.Kernel = Begin("float8", t, ", a *float32, b *float32, table *byte, chunks int, n int", "decodes n runs of chunks of 32 codes.",
		"For each run: is its scale a ordinary?",
		"For 64 codes q: a bfloat16 each, found by its bytes; number = q*a;",
		"if not ordinary, and to BF16, as numbers of which none is subnormal.")
	f.a, f.chunks = Load(Param("a"), GP64()), GP64()
	table := Mem{Base: Load(Param("table"), GP64())}
	f.lower, f.upper = halfPlaneAt(table), halfPlaneAt(table.Offset(128))
	f.order = Load64(Dwords64(func(i int) int { return i%4*4 + i/4 }))
	f.found, f.nanUpper, f.zero = newFound(table.Offset(256)), All(0xFFFFFFFF), ZMM()
	VPXORD(f.zero, f.zero, f.zero)
	n := Load(Param("n"), GP64())
	tops := All(0x80000000) // All NaN of codes have the sign, and products of the other sign.
	exact, next := NewLabel("exact"), NewLabel("next")
	loop := func(product func(x [2]VecVirtual)) {
		write := func(codes int) func() { return func() { f.write(codes, product) } }
		Pairs(f.Kernel, f.chunks, 32, 32, write(64), write(32))
	}

	Repeat("run", n, func() {
		Load(Param("chunks"), f.chunks)
		if t != ToBF16 {
			OrdinaryScale.Unless(Mem{Base: f.a}, exact)
			bits := Into(GP32(), MOVL, Mem{Base: f.a})
			XORL(U32(0x80000000), bits)
			scale := Into(ZMM(), VPBROADCASTD, bits)
			loop(func(x [2]VecVirtual) {
				for _, x := range x {
					VMULPS(scale, x, x)
					VXORPS(tops, x, x)
				}
			})
			JMP(next.Ref())
			exact.Here()
			Comment("A run that is not ordinary.")
		}
		scale := Single(Mem{Base: f.a})
		Quieted(scale)
		VXORPS(tops, scale, scale)
		p := NewProduct(scale)
		loop(func(x [2]VecVirtual) {
			for _, x := range x {
				p.OfAnyNegated(x)
			}
		})
		next.Here()
		ADDQ(Imm(4), f.a)
	})
	End()
}

// write writes 64 numbers, or 32.
func (f *kernel) write(n int, product func(x [2]VecVirtual)) {
	codes := lookup.Ordered(n, f.From(0), f.order, VPERMD)
	low, high := f.find(codes, f.lower, f.upper, f.nanUpper, OrAnd)
	// Dwords in the order that these bring back.
	a := Into(ZMM(), VPUNPCKLBW, high, low)
	b := Into(ZMM(), VPUNPCKHBW, high, low)
	for i, x := range []VecVirtual{a, b}[:n/32] {
		both := [2]VecVirtual{ZMM(), ZMM()}
		VPUNPCKLWD(x, f.zero, both[0])
		VPUNPCKHWD(x, f.zero, both[1])
		product(both)
		f.Put(32*i, both[0], both[1])
	}
}

// A found is what looking up codes with a sign takes.
type found struct {
	sign, nan, nanLower VecVirtual // of all bytes; the code of NaN; C0
	code                Mem        // that code
}

// newFound takes where the code of NaN is that no table has. FF is one that they have.
func newFound(code Mem) found {
	f := found{All(0x80808080), ZMM(), All(0xC0C0C0C0), code}
	VPBROADCASTB(code, f.nan)
	return f
}

// find looks 64 codes up: their upper bytes get the sign that codes have,
// or as signed says keep it there alone. NaN has one already, or none.
// Codes change their sign first as negate says.
func (f *found) find(codes VecVirtual, lower, upper halfPlane, nanUpper VecVirtual, signed uint64, negate ...VecVirtual) (low, high VecVirtual) {
	low, high = ZMM(), ZMM()
	VMOVDQA64(codes, low)
	for _, t := range negate {
		VPXORD(t, codes, low)
	}
	VMOVDQA64(low, high)
	VPERMI2B(upper[1], upper[0], high)
	VPTERNLOGD(Imm(signed), f.sign, low, high)
	VPERMI2B(lower[1], lower[0], low)
	table := NewLabel("table")
	CMPB(f.code, I8(-1))
	JEQ(table.Ref())
	nan := K()
	VPCMPEQB(f.nan, codes, nan)
	VMOVDQU8(nanUpper, nan, high)
	VMOVDQU8(f.nanLower, nan, low)
	table.Here()
	return low, high
}
