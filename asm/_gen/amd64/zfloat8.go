package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zfloat8 is codes of eight bits that a table of exact numbers explains: the
// words of codes without a sign as bfloat16, their lower bytes and their upper ones;
// the upper bytes for scales that are small, see [zlesser]; then below which scales
// products are subnormal, as float32, and a code of NaN, which in some formats is
// that of minus zero.
type zfloat8 struct {
	*zruns
	lower, upper, small zhalfPlane
	zfound
	order, zero VecVirtual
	nanUpper    VecVirtual // FF
	scale       VecVirtual
}

// A zhalfPlane is 128 bytes by their index, in two registers.
type zhalfPlane [2]VecVirtual

func zhalfPlaneAt(m Mem) zhalfPlane { return zhalfPlane{zload(m), zload(m.Offset(64))} }

func zfloat8Kernels() {
	for _, t := range ztargets() {
		f := &zfloat8{}
		least := GP32()
		var s *zlesser
		l := zloop{in: 32, elems: 32,
			before: func(z *zruns) {
				f.zruns = z
				table := Mem{Base: Load(Param("table"), GP64())}
				f.lower, f.upper = zhalfPlaneAt(table), zhalfPlaneAt(table.Offset(128))
				f.order = zload(dwords64(func(i int) int { return i%4*4 + i/4 }))
				f.zfound, f.nanUpper, f.zero = newFound(table.Offset(388)), all(0xFFFFFFFF), ZMM()
				VPXORD(f.zero, f.zero, f.zero)
				if !z.narrow {
					f.small = zhalfPlaneAt(table.Offset(256))
					MOVL(table.Offset(384), least)
					DECL(least)
					s = newLesser(z)
				}
			},
			run: func(z *zruns) {
				if z.narrow {
					f.scale = z.flushed()
					return
				}
				z.ifSmall(least)
				f.scale = z.number(Mem{Base: z.a}, true)
			},
			chunk: func(*zruns) { f.write(32, nil) },
			two:   func(*zruns) { f.write(64, nil) },
			other: func(z *zruns) {
				Label("small")
				s.of()
				zpairs(f.zkernel, "small", f.chunks, 32, 32, func() { f.write(64, s) }, func() { f.write(32, s) })
			},
		}
		if targets[t].narrow {
			l.other = nil
		}
		zrunsKernel("float8", t, ", table *byte", "decodes n runs of chunks of 32 codes.", minus, l)
	}
}

// write writes 64 numbers, or 32, under a scale that is small or not.
func (f *zfloat8) write(n int, s *zlesser) {
	codes := ordered(n, f.from(0), f.order, VPERMD)
	var low, high VecVirtual
	if s == nil {
		low, high = f.find(codes, f.lower, f.upper, f.nanUpper, orAnd, func(VecVirtual) {}, fmt.Sprint("found", n))
	} else {
		low, high = f.find(codes, f.lower, f.small, s.nanUpper, andOrNot, func(codes VecVirtual) { VPXORD(s.turn, codes, codes) }, fmt.Sprint("smallFound", n))
	}
	// Dwords in the order that these bring back.
	a, b := ZMM(), ZMM()
	VPUNPCKLBW(high, low, a)
	VPUNPCKHBW(high, low, b)
	for i, x := range []VecVirtual{a, b}[:n/32] {
		first, second := ZMM(), ZMM()
		VPUNPCKLWD(x, f.zero, first)
		VPUNPCKHWD(x, f.zero, second)
		if s != nil {
			s.write(32*i, first, second)
			continue
		}
		VMULPS(f.scale, first, first)
		VMULPS(f.scale, second, second)
		f.put(32*i, first, second)
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

// find looks 64 codes up, turned or not: their upper bytes get the sign that codes have,
// or as signed says keep it there alone. NaN has one already, or none. The name is of a
// label.
func (f *zfound) find(codes VecVirtual, lower, upper zhalfPlane, nanUpper VecVirtual, signed uint64, turn func(codes VecVirtual), name string) (low, high VecVirtual) {
	low, high = ZMM(), ZMM()
	VMOVDQA64(codes, low)
	turn(low)
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
