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
	for _, t := range ztargets() {
		f := &zfloat8{}
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
			},
			run: func(z *zruns) {
				f.scale = z.number(Mem{Base: z.a}, true)
				z.ifSmall(least)
			},
			chunk: func(*zruns) { f.write(32, f.product) },
			two:   func(*zruns) { f.write(64, f.product) },
			other: func(z *zruns) {
				Label("small")
				z.inSteps()
				small := newZsmall(f.scale)
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
