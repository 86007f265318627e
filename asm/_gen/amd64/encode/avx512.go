package encode

import (
	"math"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// AVX512 writes them in registers of 64 bytes.
func AVX512() {
	absmax()
	nearest()
	toBytes()
}

// absmax takes n runs of chunks of 32 float32. Magnitudes compare as
// integers.
func absmax() {
	Frame("absmaxAVX512", "func(dst *float32, src *byte, chunks int, n int)", "writes the largest magnitude of each of n runs of chunks of 32 numbers.",
		"For each run, of all its numbers:", "m = the largest magnitude; they compare as integers;", "dst = m.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, chunks := Load(Param("n"), GP64()), GP64()
	magnitude := All(0x7FFFFFFF)
	Repeat("run", n, func() {
		Load(Param("chunks"), chunks)
		most := [2]VecVirtual{ZMM(), ZMM()}
		for _, m := range most {
			VPXORD(m, m, m)
		}
		Repeat("chunk", chunks, func() {
			for i, m := range most {
				x := Into(ZMM(), VPANDD, Mem{Base: src, Disp: 64 * i}, magnitude)
				VPMAXUD(x, m, m)
			}
			ADDQ(U32(128), src)
		})
		m, other := most[0], most[1]
		VPMAXUD(other, m, m)
		VEXTRACTI64X4(Imm(1), m, other.AsY())
		VPMAXUD(other.AsY(), m.AsY(), m.AsY())
		VEXTRACTI32X4(Imm(1), m.AsY(), other.AsX())
		for _, order := range []uint64{0x4E, 0xB1, 0} {
			VPMAXUD(other.AsX(), m.AsX(), m.AsX())
			if order != 0 {
				VPSHUFD(Imm(order), m.AsX(), other.AsX())
			}
		}
		VMOVD(m.AsX(), Mem{Base: dst})
		ADDQ(Imm(4), dst)
	})
	End()
}

// Numbers so much smaller than their scale that they come to zero are left out
// where others are multiplied: a subnormal number, or product, takes Intel's
// processors more than a hundred cycles. Bits of the exponent tell them: any of
// the two highest is set from 2^-63 on, the highest alone from 2 on, and one of
// three from 2^-95 on.
const (
	fromLeast  = 0x70000000 // 2^-95
	fromMiddle = 0x60000000 // 2^-63
	fromMost   = 0x40000000 // 2
)

// A large finds what is large beside a scale from the bits of both: those for
// scales between two powers of two, and others below and above.
type large struct {
	least, most int
	middle, now VecVirtual
}

func newLarge(least, most int) *large {
	return &large{least + 127, most + 127, All(fromMiddle), ZMM()}
}

// scale takes the bits of a scale. It calls rare with the bits for a scale that is
// not between the two, which it may change.
func (l *large) scale(scale Register, rare func(bits Register)) {
	VMOVDQA64(l.middle, l.now)
	above := Into(GP32(), LEAL, Mem{Base: scale, Disp: -l.least << 23})
	CMPL(above, U32((l.most-l.least)<<23))
	ready := NewLabel("ready")
	JCS(ready.Ref())
	bits := Into(GP32(), MOVL, U32(fromLeast))
	other := Into(GP32(), MOVL, U32(fromMost))
	CMPL(scale, U32(l.most<<23))
	CMOVLCC(other, bits)
	rare(bits)
	VPBROADCASTD(bits, l.now)
	ready.Here()
}

// nearest finds how many of fifteen bounds lie below each scaled number,
// by halves, as the kernel of smaller registers does and from its tables: what
// was found is the place of the next bound.
//
// Numbers below 2^-30 of the scale count as zero, unless there is a bound so near
// to zero. Then, and where the scale is small or its reciprocal subnormal, they are
// multiplied in double precision, which rounds once too.
func nearest() {
	var third, fourth, order, middle, low, high, halves VecVirtual
	var steps [4]VecVirtual
	var strict Register
	var large *large
	inverse, by, least := ZMM(), ZMM(), XMM()
	careful := GP32()
	(&Encoder{
		Name: "nearest", Level: "AVX512", Params: ", tables *byte, least *float32", Out: 16,
		Doc: "writes the codes of n runs of chunks of 32 numbers, two a byte, the first in the high nibble.",
		Says: []string{"For each run: inverse = 1/max(scale, least).",
			"For 32 numbers x: code = how many of fifteen bounds x*inverse is above, by halves;",
			"x*inverse in double precision where float32 would be subnormal and that counts."},
		Before: func() {
			t := Mem{Base: Load(Param("tables"), GP64())}
			third, fourth, order = ZMM(), ZMM(), ZMM()
			backwards := func(m Mem, step int, x VecVirtual) {
				VBROADCASTF32X8(m, x)
				VPERMPS(x, Load64(Dwords64(func(i int) int { return -(i / step) & 7 })), x)
			}
			backwards(t, 4, third)
			backwards(t.Offset(32), 2, fourth)
			VBROADCASTI32X4(t.Offset(64), order)
			VPERMB(order, Load64(Bytes64(func(i int) int { return -i & 15 })), order)
			middle, low, high = Single(t.Offset(80)), Single(t.Offset(84)), Single(t.Offset(88))
			strict = Into(GP32(), MOVL, t.Offset(92))
			large = newLarge(-33, 60)
			for i := range steps {
				steps[i] = All(8 >> i)
			}
			// Of 32 dwords the low bytes: the even ones, then the odd ones.
			halves = Load64(Bytes64(func(i int) int { return i%16*8 + i/16%2*4 }))
			VMOVSS(Mem{Base: Load(Param("least"), GP64())}, least)
		},
		Inverse: InverseFrom(least),
		Run: func(scale Mem, x VecVirtual) Register {
			VBROADCASTSS(x, inverse)
			bits := Into(GP32(), MOVL, scale)
			MOVL(strict, careful)
			VCVTPS2PD(inverse.AsY(), by)
			large.scale(bits, func(large Register) {
				above, none := GP32(), GP32()
				XORL(none, none)
				LEAL(Mem{Base: bits, Disp: -(127 - 65) << 23}, above)
				CMPL(above, U32((65+126)<<23))
				MOVL(U32(1), above)
				CMOVLCC(above, careful)
				CMOVLCC(none, large)
			})
			return nil
		},
		Chunk: func(src, dst Register) {
			var n, xs [2]VecVirtual
			var some [2]OpmaskVirtual
			for i := range xs {
				xs[i], some[i] = Load64(Mem{Base: src, Disp: 64 * i}), K()
				VPTESTMD(xs[i], large.now, some[i])
				VMULPS_Z(xs[i], inverse, some[i], xs[i])
			}
			TESTL(careful, careful)
			search := NewLabel("search")
			JZ(search.Ref())
			KANDW(some[0], some[1], some[0])
			KORTESTW(some[0], some[0])
			JCS(search.Ref())
			for i, x := range xs {
				m := Mem{Base: src, Disp: 64 * i}
				products(m, by, x)
			}
			search.Here()
			for i, x := range xs {
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
		},
	}).Write()
}

// products multiplies sixteen numbers in double precision, where nothing that
// float32 has is subnormal, and rounds once.
func products(m Mem, by, x VecVirtual) {
	for i, half := range [2]VecVirtual{x, ZMM()} {
		d := Into(ZMM(), VCVTPS2PD, m.Offset(32*i))
		VMULPD(by, d, d)
		VCVTPD2PS(d, half.AsY())
		if i == 1 {
			VINSERTF64X4(Imm(1), half.AsY(), x, x)
		}
	}
}

// toBytes rounds numbers times 127/scale to bytes; what is not finite
// becomes zero.
//
// Of scales so small that subnormal numbers count, these get a bit more than they
// have: they are normal then, and the product of what they have too much is taken
// off as they are multiplied.
func toBytes() {
	var none, sign, order VecVirtual
	var large *large
	inverse, less := ZMM(), ZMM()
	put := func(x [2]VecVirtual, dst Register) {
		some, y := K(), x[0].AsY()
		VCVTPS2DQ(x[0], x[0])
		VCVTPS2DQ(x[1], x[1])
		VPACKSSDW(x[1], x[0], x[0])
		VPCMPW(Imm(4), none, x[0], some)
		VPMOVSWB_Z(x[0], some, y)
		VPERMD(y, order, y)
		VMOVDQU32(y, Mem{Base: dst})
	}
	(&Encoder{
		Name: "int8", Level: "AVX512", Out: 32,
		Doc: "rounds n runs of chunks of 32 numbers to bytes.",
		Says: []string{"For each run: inverse = 127/scale, rounded between.",
			"For 32 numbers x: code = x*inverse, to nearest and ties to even; zero if not finite.",
			"What is too small beside the scale is left out."},
		Before: func() {
			none, sign, order = All(0x80008000), All(0x80000000), Load32(Dwords(0, 2, 4, 6, 1, 3, 5, 7))
			large = newLarge(-54, 69)
		},
		Inverse: inverse127(),
		Run: func(scale Mem, x VecVirtual) Register {
			VBROADCASTSS(x, inverse)
			bits, tiny := GP32(), GP32()
			MOVL(scale, bits)
			ANDL(U32(0x7FFFFFFF), bits)
			XORL(tiny, tiny)
			large.scale(bits, func(Register) {
				CMPL(bits, U32((127-87)<<23))
				SETCS(tiny.As8())
				VPSUBD_BCST(Dwords(126<<23), inverse, less)
			})
			return tiny
		},
		Chunk: func(src, dst Register) {
			xs := [2]VecVirtual{ZMM(), ZMM()}
			for i, x := range xs {
				VMOVUPS(Mem{Base: src, Disp: 64 * i}, x)
				some := Into(K(), VPTESTMD, x, large.now)
				VMULPS_Z(x, inverse, some, x)
			}
			put(xs, dst)
		},
		Other: func(src, dst Register) {
			xs := [2]VecVirtual{Load64(Mem{Base: src}), Load64(Mem{Base: src, Disp: 64})}
			for _, x := range xs {
				small := Into(K(), VPTESTNMD_BCST, Dwords(0x7F800000), x)
				VPORD_BCST(Dwords(1<<23), x, small, x)
				much := Into(ZMM(), VPANDD_Z, sign, x, small)
				VPXORD(less, much, small, much)
				VFMSUB213PS(much, inverse, x)
			}
			put(xs, dst)
		},
	}).Write()
}

// inverse127 returns 127 over a scale, rounded between: see [OneOver].
func inverse127() func(scale Mem, x VecVirtual) {
	return func(scale Mem, x VecVirtual) {
		twice, normal, done := GP32(), NewLabel("normal"), NewLabel("inverted")
		OneOver(scale, x)
		MOVL(scale, twice)
		ADDL(twice, twice)
		CMPL(twice, U32(2*253<<23))
		JCS(normal.Ref())
		VCVTSS2SD(x, x, x)
		VMULSD(Qwords(math.Float64bits(127)), x, x)
		VCVTSD2SS(x, x, x)
		JMP(done.Ref())
		normal.Here()
		VMULSS(Floats(127), x, x)
		done.Here()
	}
}
