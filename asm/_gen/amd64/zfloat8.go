package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zfloat8 is codes of eight bits that a table of exact numbers explains: their
// upper words, the lower bytes of all 256 first. A NaN is FFC0 there. Behind them
// stands, as float32, below which scales make products subnormal.
type zfloat8 struct {
	*zruns
	lower, upper zplane
	order, zero  VecVirtual
	scale        VecVirtual
}

func zfloat8Kernels() {
	for t := range targets {
		f := &zfloat8{}
		var small *zsmall
		least := GP32()
		zrunsKernel("float8", t, ", table *byte", "decodes n runs of chunks of 32 codes.", minus, zloop{in: 32, elems: 32,
			before: func(z *zruns) {
				f.zruns = z
				table := Mem{Base: Load(Param("table"), GP64())}
				f.lower, f.upper = zplaneAt(table), zplaneAt(table.Offset(256))
				f.order = zload(dwords64(func(i int) int { return i%4*4 + i/4 }))
				f.zero = ZMM()
				VPXORD(f.zero, f.zero, f.zero)
				MOVL(table.Offset(512), least)
				DECL(least)
				small = f.newSmall()
			},
			run: func(z *zruns) {
				f.scale = z.number(Mem{Base: z.a}, true)
				bits := GP32()
				MOVL(Mem{Base: z.a}, bits)
				and32(bits, 0x7FFFFFFF)
				DECL(bits) // zero is not small
				CMPL(bits, least)
				JCS(LabelRef("small"))
			},
			chunk: func(*zruns) { f.write(32, f.product) },
			two:   func(*zruns) { f.write(64, f.product) },
			other: func(*zruns) {
				Label("small")
				small.of(f.scale)
				zpairs(f.zkernel, "small", f.chunks, 32, 32, func() { f.write(64, small.product) }, func() { f.write(32, small.product) })
			},
		})
	}
}

func (f *zfloat8) product(x VecVirtual) { VMULPS(f.scale, x, x) }

// write writes 64 numbers, or 32.
func (f *zfloat8) write(n int, product func(x VecVirtual)) {
	w := find(ordered(n, f.from(0), f.order, VPERMD), f.lower, f.upper)
	// Dwords in the order that these bring back.
	a, b := ZMM(), ZMM()
	VPUNPCKLBW(w[1], w[0], a)
	VPUNPCKHBW(w[1], w[0], b)
	for i, x := range []VecVirtual{a, b}[:n/32] {
		first, second := ZMM(), ZMM()
		VPUNPCKLWD(x, f.zero, first)
		VPUNPCKHWD(x, f.zero, second)
		product(first)
		product(second)
		f.put(32*i, first, second)
	}
}

// A zsmall is a run whose products may be subnormal, as [small] is one: no
// product that is gives them. Of a magnitude times 2^64 times the scale, and of
// half of that added to 2^63 units of subnormal numbers, the larger one, as
// integers, is the product's bits and 2^64's.
type zsmall struct {
	sign, infinite VecVirtual
	unit           VecVirtual
	times, half    VecVirtual
	turned         VecVirtual // times, of the other sign than the scale
	less           VecVirtual // what the bits are more, and the sign where products turn
}

func (f *zfloat8) newSmall() *zsmall {
	return &zsmall{sign: all(0x80000000), infinite: all(0x7F800000), unit: all(smallShift << 23)}
}

// of takes a scale of the other sign. One that is subnormal is counted.
func (s *zsmall) of(scale VecVirtual) {
	bits, normal := ZMM(), K()
	s.times, s.half, s.turned, s.less = ZMM(), ZMM(), ZMM(), ZMM()
	VPANDND(scale, s.sign, bits)
	VPCMPD_BCST(Imm(6), dwords(0x007FFFFF), bits, normal)
	VCVTDQ2PS(bits, s.times)
	VPSUBD_BCST(dwords((149-smallShift)<<23), s.times, s.times)
	VPADDD(s.unit, bits, normal, s.times)
	VPSUBD_BCST(dwords(1<<23), s.times, s.half)
	VPANDD(scale, s.sign, s.less)
	VPORD(s.less, s.times, s.turned)
	VPORD(s.unit, s.less, s.less)
}

// product keeps to products where a code is infinite or NaN.
func (s *zsmall) product(x VecVirtual) {
	m, p, special := ZMM(), ZMM(), K()
	VPANDND(x, s.sign, m)
	VPCMPD(Imm(5), s.infinite, m, special)
	VMULPS(s.times, m, p)
	VFMADD213PS(s.unit, s.half, m)
	VPMAXSD(m, p, p)
	VPSUBD(s.less, p, p)
	VPTERNLOGD(Imm(0x78), s.sign, x, p) // p ^ x & sign
	VMULPS(s.turned, x, special, p)
	VMOVAPS(p, x)
}
