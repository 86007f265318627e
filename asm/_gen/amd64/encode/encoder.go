// Package encode is what writes codes: the largest magnitudes of runs, the nearest
// codes of a codebook, and bytes.
package encode

import (
	"math"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Narrow and Wide are the registers of the levels.
var Narrow, Wide = registers{"AVX2", YMM, 32}, registers{"AVX512", ZMM, 64}

// Kernels writes those of a level.
func (r registers) Kernels() {
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
	Entry(e.name+r.level, "%s", e.name)
	Frame(e.name+r.level, "func(dst *byte, src *byte, scales *float32"+e.params+", chunks int, n int)", e.doc,
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

// registers are those of a level.
type registers struct {
	level string
	one   func() VecVirtual
	bytes int
}

// wide says that they have 64 bytes.
func (r registers) wide() bool { return r.bytes == 64 }

// chunk is registers for 32 numbers.
func (r registers) chunk() (x []VecVirtual) {
	for range 128 / r.bytes {
		x = append(x, r.one())
	}
	return x
}

// at is what register i of a chunk takes of memory.
func (r registers) at(base Register, i int) Mem { return Mem{Base: base, Disp: r.bytes * i} }

// move copies a register or memory.
func (r registers) move(from Op, to VecVirtual) VecVirtual {
	switch _, memory := from.(Mem); {
	case r.wide():
		VMOVDQU32(from, to)
	case memory:
		VMOVDQU(from, to)
	default:
		VMOVDQA(from, to)
	}
	return to
}

// all is a dword in all lanes.
func (r registers) all(v uint32) VecVirtual {
	if r.wide() {
		return Into(r.one(), VPBROADCASTD, Dwords(v))
	}
	return Load32(Dwords(v))
}

// logic is an instruction of two names.
func (r registers) logic(narrow func(a, b, to Op), wide func(...Op), a, b, to Op) {
	if r.wide() {
		wide(a, b, to)
	} else {
		narrow(a, b, to)
	}
}

// with is an instruction with a constant, the wide one repeating it.
func (r registers) with(plain func(...Op), repeating func(...Op), v uint32, x VecVirtual) {
	if r.wide() {
		repeating(Dwords(v), x, x)
	} else {
		plain(Dwords(v), x, x)
	}
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

func (r registers) scaled() *scaled { return &scaled{registers: r, x: r.chunk()} }

// begin has registers and labels for what runs have.
func (s *scaled) begin() {
	s.inverse, s.small, s.over = s.one(), s.one(), GP32()
	s.done, s.inDoubles, s.inCheck = NewLabel("scaled"), NewLabel("doubled"), NewLabel("checked")
}

// run takes the inverse x of a run and its scale.
func (s *scaled) run(x VecVirtual, scale Mem) {
	VBROADCASTSS(x, s.inverse)
	VBROADCASTSS(scale, s.small)
	s.with(VPSUBD, VPSUBD_BCST, 64<<23, s.small)
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
		VADDPS(s.at(src, i), s.small, y)
		VMULPS(s.inverse, y, y)
	}
	s.done.Here()
}

// Doubled multiplies the numbers of a register, whatever they are, by two registers of doubles: no product
// of two float32 is rounded in float64.
func (r registers) Doubled(m Mem, by func(i int) Op, x VecVirtual) {
	var half [2]VecVirtual
	for i := range half {
		y := Into(r.one(), VCVTPS2PD, m.Offset(r.bytes/2*i))
		if VMULPD(by(i), y, y); r.wide() {
			half[i] = Into(YMM(), VCVTPD2PS, y)
		} else {
			half[i] = Into(XMM(), VCVTPD2PSY, y)
		}
	}
	if r.wide() {
		VINSERTF64X4(Imm(1), half[1], half[0].AsZ(), x)
	} else {
		VINSERTF128(Imm(1), half[1], half[0].AsY(), x)
	}
}

// rare multiplies all of a chunk so, behind the loops.
func (s *scaled) rare(src Register) {
	inverse := s.one()
	s.inDoubles.Here()
	Comment("A chunk in double precision.")
	if s.wide() {
		VCVTPS2PD(s.inverse.AsY(), inverse)
	} else {
		VCVTPS2PD(s.inverse.AsX(), inverse)
	}
	for i, y := range s.x {
		s.Doubled(s.at(src, i), func(int) Op { return inverse }, y)
	}
	JMP(s.done.Ref())
}

// checked is chunk where small products differ: some numbers may not be multiplied as
// they are. Twice a magnitude less one is largest for zero.
func (s *scaled) checked(src Register) {
	s.inCheck.Here()
	Comment("A chunk whose small products differ: are its numbers zero or large enough?")
	s.other()
	least := Into(s.one(), VPADDD, s.small, s.small)
	m := s.move(least, s.one())
	for i, y := range s.x {
		s.move(s.at(src, i), y)
		twice := Into(s.one(), VPADDD, y, y)
		s.with(VPADDD, VPADDD_BCST, 0xFFFFFFFF, twice)
		VPMINUD(twice, m, m)
	}
	if s.wide() {
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
