package encode

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// absmax takes n runs of chunks of 32 float32. Magnitudes compare as
// integers.
func (r registers) absmax() {
	Entry("absmax"+r.level, "absmax")
	Frame("absmax"+r.level, "func(dst *float32, src *byte, chunks int, n int)", "writes the largest magnitude of each of n runs of chunks of 32 numbers.",
		"For each run, of all its numbers:", "m = the largest magnitude; they compare as integers;", "dst = m.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, chunks := Load(Param("n"), GP64()), GP64()
	mask := r.all(0x7FFFFFFF)
	Repeat("run", n, func() {
		Load(Param("chunks"), chunks)
		most := r.chunk()
		for _, m := range most {
			r.logic(VPXOR, VPXORD, m, m, m)
		}
		Repeat("chunk", chunks, func() {
			for i, m := range most {
				x := r.one()
				r.logic(VPAND, VPANDD, r.at(src, i), mask, x)
				VPMAXUD(x, m, m)
			}
			ADDQ(U32(128), src)
		})
		for step := 1; step < len(most); step *= 2 {
			for i := 0; i < len(most); i += 2 * step {
				VPMAXUD(most[i+step], most[i], most[i])
			}
		}
		m, other := most[0], XMM()
		if r.wide() {
			VEXTRACTI64X4(Imm(1), m, other.AsY())
			VPMAXUD(other.AsY(), m.AsY(), m.AsY())
			VEXTRACTI32X4(Imm(1), m.AsY(), other)
		} else {
			VEXTRACTI128(Imm(1), m, other)
		}
		for _, order := range []uint64{0x4E, 0xB1, 0} {
			VPMAXUD(other, m.AsX(), m.AsX())
			if order != 0 {
				VPSHUFD(Imm(order), m.AsX(), other)
			}
		}
		VMOVD(m.AsX(), Mem{Base: dst})
		ADDQ(Imm(4), dst)
	})
	End()
}

// nearest finds how many of fifteen bounds lie below each scaled number, by halves: what was found is
// the place of the next bound.
func (r registers) nearest() {
	search := r.byCounts
	if r.wide() {
		search = r.byMasks
	}
	var before func(tables Mem)
	var table Register
	least := GP64()
	e := encoder{
		name: "nearest", params: ", tables *byte, least *float32", doc: "writes the codes of n runs of chunks of 32 numbers, two a byte, the first in the high nibble.",
		says: []string{"For each run: inverse = 1/max(scale, least); for 32 numbers: q = x*inverse, in double precision where float32 would be subnormal and that counts;",
			"code = how many of fifteen bounds q is above, by halves;", "dst = two codes a byte, the first in the high nibble."},
		out: 16,
		before: func() {
			table = Load(Param("tables"), GP64())
			before(Mem{Base: table})
			Load(Param("least"), least)
		},
		inverse: func(scale Mem, x VecVirtual) {
			lower := Into(XMM(), VMOVSS, Mem{Base: least})
			most := Into(XMM(), VMAXSS, scale, lower) // the second where one is NaN: the scale
			oneOver(most, x)
		},
		check: func(unlike Place) {
			CMPB(Mem{Base: table, Disp: 92}, Imm(0)) // whether there is a small bound
			JNE(unlike.Ref())
		},
	}
	before, e.chunk = search(&table)
	e.write(r)
}

// byCounts has counters, which each comparison subtracts one from that are twice what the ones before
// found: they are negative, so the tables run backwards.
func (r registers) byCounts(table *Register) (func(Mem), func(s *scaled, src, dst Register)) {
	var third, fourth, middle, low, high VecVirtual
	return func(t Mem) {
			third, fourth = Load32(t), Load32(t.Offset(32))
			middle, low, high = YMM(), YMM(), YMM()
			VBROADCASTSS(t.Offset(80), middle)
			VBROADCASTSS(t.Offset(84), low)
			VBROADCASTSS(t.Offset(88), high)
		}, func(s *scaled, _, dst Register) {
			n := make([]VecVirtual, len(s.x))
			for i, y := range s.x {
				n[i] = below(y, middle, low, high, third, fourth)
			}
			packed := Packed([4]VecVirtual(n), VPACKSSWB)
			VPAND(Bytes32(0x0F), packed, packed)
			order := Into(YMM(), VBROADCASTI128, Mem{Base: *table, Disp: 64})
			VPSHUFB(packed, order, packed)
			// Sixteen times the first and the second: a byte of two codes.
			VPMADDUBSW(Bytes32(16, 1), packed, packed)
			half := Into(XMM(), VEXTRACTI128, Imm(1), packed)
			VPACKUSWB(half, packed.AsX(), half)
			VMOVDQU(half, Mem{Base: dst})
		}
}

// below is minus the number of bounds below x.
func below(x, middle, low, high, third, fourth VecVirtual) VecVirtual {
	n, m, bound := YMM(), YMM(), YMM()
	less := func(bound VecVirtual, m VecVirtual) { VCMPPS(Imm(17), x, bound, m) }
	next := func() {
		VPADDD(n, n, n)
		VPADDD(m, n, n)
	}
	less(middle, n)
	VBLENDVPS(n, high, low, bound)
	less(bound, m)
	next()
	VPERMPS(third, n, bound)
	less(bound, m)
	next()
	VPERMPS(fourth, n, bound)
	less(bound, m)
	next()
	return n
}

// byMasks adds 8, 4, 2 and 1 where comparisons say so.
func (r registers) byMasks(*Register) (func(Mem), func(s *scaled, src, dst Register)) {
	var third, fourth, order, middle, low, high, halves VecVirtual
	var steps [4]VecVirtual
	return func(t Mem) {
			third, fourth, order = ZMM(), ZMM(), ZMM()
			forwards := func(m Mem, step int, x VecVirtual) { // the tables run backwards
				VBROADCASTF32X8(m, x)
				VPERMPS(x, Load64(Dwords64(func(i int) int { return -(i / step) & 7 })), x)
			}
			forwards(t, 4, third)
			forwards(t.Offset(32), 2, fourth)
			VBROADCASTI32X4(t.Offset(64), order)
			VPERMB(order, Load64(Bytes64(func(i int) int { return -i & 15 })), order)
			middle, low, high = Single(t.Offset(80)), Single(t.Offset(84)), Single(t.Offset(88))
			for i := range steps {
				steps[i] = All(8 >> i)
			}
			// Of 32 dwords the low bytes: the even ones, then the odd ones.
			halves = Load64(Bytes64(func(i int) int { return i%16*8 + i/16%2*4 }))
		}, func(s *scaled, _, dst Register) {
			var n [2]VecVirtual
			for i, x := range s.x {
				n[i] = ZMM()
				k := Into(K(), VCMPPS, Imm(17), x, middle)
				VMOVDQA32_Z(steps[0], k, n[i])
				bound := Into(ZMM(), VBLENDMPS, high, low, k)
				for j, next := range []VecVirtual{third, fourth, nil} {
					k := Into(K(), VCMPPS, Imm(17), x, bound)
					VPADDD(steps[j+1], n[i], k, n[i])
					if next != nil {
						VPERMPS(next, n[i], bound)
					}
				}
			}
			VPERMT2B(n[1], halves, n[0])
			VPERMB(order, n[0], n[0])
			first, second := n[0].AsX(), XMM()
			VEXTRACTI32X4(Imm(1), n[0].AsY(), second)
			VPSLLW(Imm(4), first, first)
			VPORD(second, first, first)
			VMOVDQU32(first, Mem{Base: dst})
		}
}

// int8 rounds numbers times 127/scale to bytes; what is not finite becomes
// zero.
func (r registers) int8() {
	var none, order VecVirtual
	e := encoder{
		name: "int8", doc: "rounds n runs of chunks of 32 numbers to bytes.",
		says: []string{"For each run: inverse = 127/scale, rounded between;", "for 32 numbers: code = x*inverse, to nearest and ties to even; zero if not finite;", "dst = code."},
		out:  32, before: func() {}, inverse: inverse127,
		chunk: func(s *scaled, _, dst Register) {
			for _, x := range s.x {
				VCVTPS2DQ(x, x)
				none := Into(YMM(), VPCMPEQD, Dwords(0x80000000), x)
				VPANDN(x, none, x)
			}
			VMOVDQU(Packed([4]VecVirtual(s.x), VPACKSSWB), Mem{Base: dst})
		},
	}
	if r.wide() {
		e.before = func() {
			none, order = All(0x80008000), Load32(Dwords(0, 2, 4, 6, 1, 3, 5, 7))
		}
		e.chunk = func(s *scaled, _, dst Register) {
			x, some := s.x, K()
			VCVTPS2DQ(x[0], x[0])
			VCVTPS2DQ(x[1], x[1])
			VPACKSSDW(x[1], x[0], x[0])
			VPCMPW(Imm(4), none, x[0], some)
			y := Into(YMM(), VPMOVSWB_Z, x[0], some)
			VPERMD(y, order, y)
			VMOVDQU32(y, Mem{Base: dst})
		}
	}
	e.write(r)
}
