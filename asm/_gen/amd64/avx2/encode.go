package avx2

import (
	"math"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/encode"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// encodeKernels are what encoders are made of: the largest magnitude of a run,
// the nearest of sixteen values, rounding to bytes.
func encodeKernels() {
	absmaxKernel()
	nearestKernel()
	int8Kernel()
}

// absmaxKernel takes n runs of chunks of 32 float32. Magnitudes compare as
// integers.
func absmaxKernel() {
	Entry("absmaxAVX2", "absmax")
	Frame("absmaxAVX2", "func(dst *float32, src *byte, chunks int, n int)", "writes the largest magnitude of each of n runs of chunks of 32 numbers.",
		"For each run, of all its numbers:", "m = the largest magnitude; they compare as integers;", "dst = m.")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n, chunks := Load(Param("n"), GP64()), GP64()
	mask := Load32(Dwords(0x7FFFFFFF))
	Repeat("run", n, func() {
		Load(Param("chunks"), chunks)
		var most [4]VecVirtual
		for i := range most {
			most[i] = YMM()
			VPXOR(most[i], most[i], most[i])
		}
		Repeat("chunk", chunks, func() {
			for i := range most {
				x := Into(YMM(), VPAND, Mem{Base: src, Disp: 32 * i}, mask)
				VPMAXUD(x, most[i], most[i])
			}
			ADDQ(U32(128), src)
		})
		VPMAXUD(most[1], most[0], most[0])
		VPMAXUD(most[3], most[2], most[2])
		VPMAXUD(most[2], most[0], most[0])
		x, low := XMM(), most[0].AsX()
		VEXTRACTI128(Imm(1), most[0], x)
		VPMAXUD(x, low, low)
		VPSHUFD(Imm(0x4E), low, x)
		VPMAXUD(x, low, low)
		VPSHUFD(Imm(0xB1), low, x)
		VPMAXUD(x, low, low)
		VMOVD(low, Mem{Base: dst})
		ADDQ(Imm(4), dst)
	})
	End()
}

// write makes the encoder an entry of the table, and writes it.
func write(e encode.Encoder) {
	e.Level = "AVX2"
	Entry(e.Name+e.Level, "%s", e.Name)
	e.Write()
}

var oneOver, inverseFrom = encode.OneOver, encode.InverseFrom

// inverse127 is 127 over a scale, rounded between. Either may be subnormal.
func inverse127(scale Mem, x VecVirtual) {
	most := Into(XMM(), VMOVSD, Qwords(math.Float64bits(127)))
	oneOver(scale, x)
	VCVTSS2SD(x, most, x)
	VMULSD(most, x, x)
	VCVTSD2SS(x, x, x)
}

// A scaledDown is numbers times the inverse of a scale, or 127 times that. A float32
// that is subnormal, a factor or the product, holds up a multiplication. Where small
// products are all the same, the scale times 2^-64 is added to numbers first: it changes
// no number above 2^-38 times the scale, and lifts others to normal ones or to zero.
// That needs a scale from 2^-36 to 2^126. Under another one, numbers are multiplied in
// float64.
type scaledDown struct {
	inverse, small VecVirtual
	over           Register // what the scale's bits are above the least

	done, inDoubles, inCheck Place // behind the multiplication; numbers of any scale; numbers that may be too small
}

const (
	leastToScale = (127 - 36) << 23
	mostToScale  = (127 + 126) << 23
)

func newScaledDown() *scaledDown {
	return &scaledDown{YMM(), YMM(), GP32(), NewLabel("scaled"), NewLabel("doubled"), NewLabel("checked")}
}

// run takes the inverse x of a run and its scale.
func (s *scaledDown) run(x VecVirtual, scale Mem) (odd Register) {
	VBROADCASTSS(x, s.inverse)
	VBROADCASTSS(scale, s.small)
	VPSUBD(Dwords(64<<23), s.small, s.small)
	MOVL(scale, s.over)
	SUBL(U32(leastToScale), s.over)
	return nil
}

// other leaves for inDoubles under another scale.
func (s *scaledDown) other() {
	CMPL(s.over, U32(mostToScale-leastToScale))
	JCC(s.inDoubles.Ref())
}

// chunk multiplies 32 numbers.
func (s *scaledDown) chunk(src Register, x [4]VecVirtual) {
	s.other()
	for i, y := range x {
		VADDPS(Mem{Base: src, Disp: 32 * i}, s.small, y)
		VMULPS(s.inverse, y, y)
	}
	s.done.Here()
}

// doubled multiplies eight numbers, whatever they are, by two registers of doubles: no product
// of two float32 is rounded in float64.
func doubled(m Mem, by func(i int) Op, x VecVirtual) {
	var half [2]VecVirtual
	for i := range half {
		y := Into(YMM(), VCVTPS2PD, m.Offset(16*i))
		VMULPD(by(i), y, y)
		half[i] = Into(XMM(), VCVTPD2PSY, y)
	}
	VINSERTF128(Imm(1), half[1], half[0].AsY(), x)
}

// rare does so with all of a chunk, behind the loops.
func (s *scaledDown) rare(src Register, x [4]VecVirtual) {
	inverse := YMM()
	s.inDoubles.Here()
	Comment("A chunk in double precision.")
	VCVTPS2PD(s.inverse.AsX(), inverse)
	for i, y := range x {
		doubled(Mem{Base: src, Disp: 32 * i}, func(int) Op { return inverse }, y)
	}
	JMP(s.done.Ref())
}

// checked is chunk where small products differ: some numbers may not be multiplied as
// they are. Twice a magnitude less one is largest for zero.
func (s *scaledDown) checked(src Register, x [4]VecVirtual) {
	s.inCheck.Here()
	Comment("A chunk whose small products differ: are its numbers zero or large enough?")
	s.other()
	least := Into(YMM(), VPADDD, s.small, s.small)
	m := Into(YMM(), VMOVDQA, least)
	for i, y := range x {
		VMOVDQU(Mem{Base: src, Disp: 32 * i}, y)
		twice := Into(YMM(), VPADDD, y, y)
		VPADDD(Dwords(0xFFFFFFFF), twice, twice)
		VPMINUD(twice, m, m)
	}
	VPCMPEQD(least, m, m)
	ok := Into(GP32(), VMOVMSKPS, m)
	CMPL(ok, Imm(0xFF))
	JNE(s.inDoubles.Ref())
	for _, y := range x {
		VMULPS(s.inverse, y, y)
	}
	JMP(s.done.Ref())
}

func fourRegisters() (x [4]VecVirtual) {
	for i := range x {
		x[i] = YMM()
	}
	return x
}

// nearestKernel finds how many of fifteen bounds lie below each scaled number,
// by halves: each comparison subtracts one from twice what the ones before
// found, and what it found is the place of the next bound. Counters are
// negative, so the tables run backwards.
func nearestKernel() {
	var third, fourth, middle, low, high VecVirtual
	var table, numbers Register
	var s *scaledDown
	x, least := fourRegisters(), GP64()
	write(encode.Encoder{
		Name: "nearest", Params: ", tables *byte, least *float32", Doc: "writes the codes of n runs of chunks of 32 numbers, two a byte, the first in the high nibble.",
		Says: []string{"For each run: inverse = 1/max(scale, least); for 32 numbers: q = x*inverse, in double precision where float32 would be subnormal and that counts;",
			"code = how many of fifteen bounds q is above, by halves;", "dst = two codes a byte, the first in the high nibble."},
		Out: 16,
		Before: func() {
			table = Load(Param("tables"), GP64())
			t := Mem{Base: table}
			third, fourth = Load32(t), Load32(t.Offset(32))
			middle, low, high = YMM(), YMM(), YMM()
			VBROADCASTSS(t.Offset(80), middle)
			VBROADCASTSS(t.Offset(84), low)
			VBROADCASTSS(t.Offset(88), high)
			Load(Param("least"), least)
			s = newScaledDown()
		},
		Inverse: func(scale Mem, x VecVirtual) {
			most := Into(XMM(), VMOVSS, Mem{Base: least})
			inverseFrom(most)(scale, x)
		},
		Run: func(scale Mem, x VecVirtual) Register { return s.run(x, scale) },
		Chunk: func(src, dst Register) {
			numbers = src
			CMPB(Mem{Base: table, Disp: 92}, Imm(0)) // whether there is a small bound
			JNE(s.inCheck.Ref())
			s.chunk(src, x)
			n := x
			for i, y := range x {
				n[i] = below(y, middle, low, high, third, fourth)
			}
			VPACKSSDW(n[1], n[0], n[0])
			VPACKSSDW(n[3], n[2], n[2])
			VPACKSSWB(n[2], n[0], n[0])
			VPERMD(n[0], Load32(Dwords(0, 4, 1, 5, 2, 6, 3, 7)), n[0])
			VPAND(Bytes32(0x0F), n[0], n[0])
			order := Into(YMM(), VBROADCASTI128, Mem{Base: table, Disp: 64})
			VPSHUFB(n[0], order, n[0])
			// Sixteen times the first and the second: a byte of two codes.
			VPMADDUBSW(Bytes32(16, 1), n[0], n[0])
			packed := Into(XMM(), VEXTRACTI128, Imm(1), n[0])
			VPACKUSWB(packed, n[0].AsX(), packed)
			VMOVDQU(packed, Mem{Base: dst})
		},
		Behind: func() {
			s.checked(numbers, x)
			s.rare(numbers, x)
		},
	})
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

// int8Kernel rounds numbers times 127/scale to bytes; what is not finite becomes
// zero.
func int8Kernel() {
	var s *scaledDown
	var numbers Register
	n := fourRegisters()
	write(encode.Encoder{
		Name: "int8", Doc: "rounds n runs of chunks of 32 numbers to bytes.",
		Says:    []string{"For each run: inverse = 127/scale, rounded between;", "for 32 numbers: code = x*inverse, to nearest and ties to even; zero if not finite;", "dst = code."},
		Out:     32,
		Before:  func() { s = newScaledDown() },
		Inverse: inverse127,
		Run:     func(scale Mem, x VecVirtual) Register { return s.run(x, scale) },
		Chunk: func(src, dst Register) {
			numbers = src
			s.chunk(src, n)
			for _, x := range n {
				VCVTPS2DQ(x, x)
				none := Into(YMM(), VPCMPEQD, Dwords(0x80000000), x)
				VPANDN(x, none, x)
			}
			x := n
			VPACKSSDW(x[1], x[0], x[0])
			VPACKSSDW(x[3], x[2], x[2])
			VPACKSSWB(x[2], x[0], x[0])
			VPERMD(x[0], Load32(Dwords(0, 4, 1, 5, 2, 6, 3, 7)), x[0])
			VMOVDQU(x[0], Mem{Base: dst})
		},
		Behind: func() { s.rare(numbers, n) },
	})
}
