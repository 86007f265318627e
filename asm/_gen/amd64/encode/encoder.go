// Package encode is what writes codes: the largest magnitudes of runs, the nearest
// codes of a codebook, and bytes.
package encode

import (
	"math"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

type registers struct{ Vectors }

// Kernels writes those of a level.
func Kernels(level Vectors) {
	r := registers{level}
	r.absmax()
	r.nearest()
	r.int8()
}

// An encoder writes the codes of runs of numbers, each under a scale.
type encoder struct {
	name, params, doc string
	says              []string
	out               int                                // bytes that a chunk of 32 numbers becomes
	before            func()                             // what all runs have in common
	inverse           func(scale Mem, x VecVirtual)      // one over the scale, before it is needed
	chunk             func(s *scaled, src, dst Register) // takes the numbers that s has multiplied
	check             func(unlike Place)                 // leaves where small products differ, or nil
}

// write writes the kernel. The inverse of the next scale is made before the run, as
// divisions take long.
func (e *encoder) write(r registers) {
	s := r.scaled()
	Entry(e.name+r.Level, "%s", e.name)
	Frame(e.name+r.Level, "func(dst *byte, src *byte, scales *float32"+e.params+", chunks int, n int)", e.doc,
		e.says...)
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	scales, n, chunks := Load(Param("scales"), GP64()), Load(Param("n"), GP64()), GP64()
	e.before()
	s.begin()
	x, after := XMM(), GP64()
	e.inverse(Mem{Base: scales}, x)
	Repeat("run", n, func() {
		Comment("The scale of a run, and the inverse of the next one's.")
		Load(Param("chunks"), chunks)
		s.run(x, Mem{Base: scales})
		LEAQ(Mem{Base: scales, Disp: 4}, after)
		CMPQ(n, Imm(1))
		CMOVQNE(after, scales)
		e.inverse(Mem{Base: scales}, x)
		Repeat("chunk", chunks, func() {
			Ask(src, Row, 128)
			if e.check != nil {
				e.check(s.inCheck)
			}
			s.chunk(src)
			e.chunk(s, src, dst)
			ADDQ(U32(128), src)
			ADDQ(Imm(uint64(e.out)), dst)
		})
	})
	End()
	if e.check != nil {
		s.checked(src)
	}
	s.rare(src)
}

// oneOver divides in double precision and rounds once more, which is the same
// number: no quotient of two floats is near the middle of two, subnormal or not,
// without being it. A division with a subnormal operand or quotient holds up all
// else.
func oneOver(s Op, x VecVirtual) {
	one := Into(XMM(), VMOVSD, Qwords(math.Float64bits(1)))
	VCVTSS2SD(s, one, x)
	VDIVSD(x, one, x)
	VCVTSD2SS(x, x, x)
}

// inverse127 is 127 over a scale, rounded between. Either may be subnormal.
func inverse127(scale Mem, x VecVirtual) {
	most := Into(XMM(), VMOVSD, Qwords(math.Float64bits(127)))
	oneOver(scale, x)
	VCVTSS2SD(x, most, x)
	VMULSD(most, x, x)
	VCVTSD2SS(x, x, x)
}

// A scaled is numbers times the inverse of a scale, or 127 times that. A float32
// that is subnormal, a factor or the product, holds up a multiplication. Where small
// products are all the same, the scale times 2^-64 is added to numbers first: it changes
// no number above 2^-38 times the scale, and lifts others to normal ones or to zero.
// That needs a scale from 2^-36 to 2^126. Under another one, numbers are multiplied in
// float64.
type scaled struct {
	registers
	x              []VecVirtual // the numbers of a chunk
	inverse, small VecVirtual
	over           Register // what the scale's bits are above the least

	done, inDoubles, inCheck Place // behind the multiplication; numbers of any scale; numbers that may be too small
}

const (
	leastToScale = (127 - 36) << 23
	mostToScale  = (127 + 126) << 23
)

func (r registers) scaled() *scaled { return &scaled{registers: r, x: r.Chunk()} }

// begin has registers and labels for what runs have.
func (s *scaled) begin() {
	s.inverse, s.small, s.over = s.One(), s.One(), GP32()
	s.done, s.inDoubles, s.inCheck = NewLabel("scaled"), NewLabel("doubled"), NewLabel("checked")
}

// run takes the inverse x of a run and its scale.
func (s *scaled) run(x VecVirtual, scale Mem) {
	VBROADCASTSS(x, s.inverse)
	VBROADCASTSS(scale, s.small)
	VPSUBD(s.Same(64<<23), s.small, s.small)
	MOVL(scale, s.over)
	SUBL(U32(leastToScale), s.over)
}

// other leaves for inDoubles under another scale.
func (s *scaled) other() {
	CMPL(s.over, U32(mostToScale-leastToScale))
	JCC(s.inDoubles.Ref())
}

// chunk multiplies 32 numbers.
func (s *scaled) chunk(src Register) {
	s.other()
	for i, y := range s.x {
		VADDPS(s.At(src, i), s.small, y)
		VMULPS(s.inverse, y, y)
	}
	s.done.Here()
}

// rare multiplies all of a chunk so, behind the loops.
func (s *scaled) rare(src Register) {
	inverse := s.One()
	s.inDoubles.Here()
	Comment("A chunk in double precision.")
	if s.Wide() {
		VCVTPS2PD(s.inverse.AsY(), inverse)
	} else {
		VCVTPS2PD(s.inverse.AsX(), inverse)
	}
	for i, y := range s.x {
		s.Doubled(s.At(src, i), func(int) Op { return inverse }, y)
	}
	JMP(s.done.Ref())
}

// checked is chunk where small products differ: some numbers may not be multiplied as
// they are. Twice a magnitude less one is largest for zero.
func (s *scaled) checked(src Register) {
	s.inCheck.Here()
	Comment("A chunk whose small products differ: are its numbers zero or large enough?")
	s.other()
	least := Into(s.One(), VPADDD, s.small, s.small)
	m := Into(s.One(), VMOVAPS, least)
	for i, y := range s.x {
		VMOVUPS(s.At(src, i), y)
		twice := Into(s.One(), VPADDD, y, y)
		VPADDD(s.Same(0xFFFFFFFF), twice, twice)
		VPMINUD(twice, m, m)
	}
	if s.Wide() {
		ok := Into(K(), VPCMPEQD, least, m)
		KORTESTW(ok, ok)
		JCC(s.inDoubles.Ref())
	} else {
		VPCMPEQD(least, m, m)
		ok := Into(GP32(), VMOVMSKPS, m)
		CMPL(ok, Imm(0xFF))
		JNE(s.inDoubles.Ref())
	}
	for _, y := range s.x {
		VMULPS(s.inverse, y, y)
	}
	JMP(s.done.Ref())
}

// absmax takes n runs of chunks of 32 float32. Magnitudes compare as
// integers.
func (r registers) absmax() {
	Entry("absmax"+r.Level, "absmax")
	Frame("absmax"+r.Level, "func(dst *float32, src *byte, chunks int, n int)", "writes the largest magnitude of each of n runs of chunks of 32 numbers.",
		"For each run, of all its numbers:", "m = the largest magnitude; they compare as integers;", "dst = m.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, chunks := Load(Param("n"), GP64()), GP64()
	mask := r.All(0x7FFFFFFF)
	Repeat("run", n, func() {
		Load(Param("chunks"), chunks)
		most := r.Chunk()
		for _, m := range most {
			VXORPS(m, m, m)
		}
		Repeat("chunk", chunks, func() {
			for i, m := range most {
				x := r.One()
				VANDPS(r.At(src, i), mask, x)
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
		if r.Wide() {
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

// nearest finds how many of fifteen bounds lie below each scaled number.
func (r registers) nearest() {
	pack := r.packNarrow
	if r.Wide() {
		pack = r.packWide
	}
	var h *Halves
	var table Register
	least := GP64()
	e := encoder{
		name: "nearest", params: ", tables *byte, least *float32", doc: "writes the codes of n runs of chunks of 32 numbers, two a byte, the first in the high nibble.",
		says: []string{"For each run: inverse = 1/max(scale, least); for 32 numbers: q = x*inverse, in double precision where float32 would be subnormal and that counts;",
			"code = how many of fifteen bounds q is above, by halves;", "dst = two codes a byte, the first in the high nibble."},
		out: 16,
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
	e.before = func() {
		table = Load(Param("tables"), GP64())
		t := Mem{Base: table}
		const greater = 14
		h = r.Halves(greater, true, t, t.Offset(32), t.Offset(80), t.Offset(84), t.Offset(88))
		e.chunk = pack(t.Offset(64), h)
		Load(Param("least"), least)
	}
	e.write(r)
}

// packNarrow packs counts in the order at a place. They are negative.
func (r registers) packNarrow(at Mem, h *Halves) func(s *scaled, src, dst Register) {
	return func(s *scaled, _, dst Register) {
		n := make([]VecVirtual, len(s.x))
		for i, y := range s.x {
			n[i], _ = h.Count(y)
		}
		packed := Packed([4]VecVirtual(n), VPACKSSWB)
		VPAND(Bytes32(0x0F), packed, packed)
		order := Into(YMM(), VBROADCASTI128, at)
		VPSHUFB(packed, order, packed)
		// Sixteen times the first and the second: a byte of two codes.
		VPMADDUBSW(Bytes32(16, 1), packed, packed)
		half := Into(XMM(), VEXTRACTI128, Imm(1), packed)
		VPACKUSWB(half, packed.AsX(), half)
		VMOVDQU(half, Mem{Base: dst})
	}
}

func (r registers) packWide(at Mem, h *Halves) func(s *scaled, src, dst Register) {
	order := Into(ZMM(), VBROADCASTI32X4, at)
	VPERMB(order, Load64(Bytes64(func(i int) int { return -i & 15 })), order)
	// Of 32 dwords the low bytes: the even ones, then the odd ones.
	halves := Load64(Bytes64(func(i int) int { return i%16*8 + i/16%2*4 }))
	return func(s *scaled, _, dst Register) {
		n, _ := h.Count(s.x[0])
		next, _ := h.Count(s.x[1])
		VPERMT2B(next, halves, n)
		VPERMB(order, n, n)
		first, second := n.AsX(), XMM()
		VEXTRACTI32X4(Imm(1), n.AsY(), second)
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
	if r.Wide() {
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
