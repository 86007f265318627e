package zmm

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// An Exact joins numbers with scales of any kind: infinite, NaN, or so small that
// what comes of them is subnormal. Intel's processors take a hundred cycles for a
// product, or a factor, that is a subnormal float32; as float64 none is, and the
// conversions between the two are not slow.
//
// Where two steps follow each other, the first is a product p that rounds to float32
// before it is multiplied or added to. It is computed as float32, of a scale that is
// 2^64 times as large if it is below 2^-40: q has few bits, so that p*2^64 rounds as p
// does if p is normal, and p is exact if it is not. The second step takes 2^-64 as a
// factor. That float64 rounds too changes nothing: products of two float32 are exact, and
// sums have more than twice as many bits (Figueroa, When is double rounding innocuous?).
type Exact struct {
	join   Join
	first  VecVirtual // of the first of two steps, or the zero point
	factor VecVirtual // of the last step, as float64
	add    VecVirtual
	way    Mem // numbers go by way of memory, which widens them for less than registers do
}

// NewExact takes the numbers of a run: its scale, its zero point or minimum, and what
// products are multiplied with once more.
func NewExact(z *Kernel, j Join, scale, other, last Mem) *Exact {
	e := &Exact{join: j, factor: ZMM(), way: z.Room(128)}
	switch j {
	case JoinScale, JoinShift:
		VCVTPS2PD_BCST(scale, e.factor)
		if j == JoinShift {
			e.first = Single(other)
		}
		return e
	}
	const enlarged = 64
	bits, one, up, down := GP32(), GP64(), GP64(), GP64()
	MOVL(scale, bits)
	ADDL(bits, bits)
	CMPL(bits, U32((127-40)<<24))
	double := func(exponent int, to GPVirtual) { MOVQ(U64(math.Float64bits(math.Ldexp(1, exponent))), to) }
	double(0, one)
	double(enlarged, up)
	double(-enlarged, down)
	CMOVQCC(one, up)
	CMOVQCC(one, down)
	x, y := XMM(), XMM()
	VMOVQ(up, x)
	VMOVSS(scale, y)
	VCVTSS2SD(y, y, y)
	VMULSD(x, y, y)
	VCVTSD2SS(y, y, y)
	e.first = ZMM()
	VBROADCASTSS(y, e.first)
	VPBROADCASTQ(down, e.factor)
	if j == JoinAffine {
		e.add = ZMM()
		VCVTPS2PD_BCST(other, e.add)
	} else {
		c := ZMM()
		VCVTPS2PD_BCST(last, c)
		VMULPD(c, e.factor, e.factor)
	}
	return e
}

// Numbers joins sixteen numbers, and sixteen, in place. A NaN is 7FC00000.
func (e *Exact) Numbers(x [2]VecVirtual) {
	for i, x := range x {
		switch e.join {
		case JoinShift:
			VSUBPS(e.first, x, x)
		case JoinAffine, JoinTwice:
			VMULPS(e.first, x, x)
		}
		VMOVUPS(x, e.way.Offset(64*i))
	}
	for i, x := range x {
		d := DoublesAt(e.way.Offset(64 * i))
		for _, d := range d {
			if e.join == JoinAffine {
				VFMADD213PD(e.add, e.factor, d)
			} else {
				VMULPD(e.factor, d, d)
			}
		}
		InSingles(d, x)
	}
}

// DoublesAt is the sixteen float32 at m in double precision.
func DoublesAt(m Mem) (d [2]VecVirtual) {
	for i := range d {
		d[i] = ZMM()
		VCVTPS2PD(m.Offset(32*i), d[i])
	}
	return d
}

// InDoubles is sixteen numbers in double precision.
func InDoubles(x VecVirtual) (d [2]VecVirtual) {
	d = [2]VecVirtual{ZMM(), ZMM()}
	VEXTRACTI64X4(Imm(1), x, d[1].AsY())
	VCVTPS2PD(x.AsY(), d[0])
	VCVTPS2PD(d[1].AsY(), d[1])
	return d
}

// InSingles rounds them again. A NaN is 7FC00000.
func InSingles(d [2]VecVirtual, x VecVirtual) {
	for _, d := range d {
		VCVTPD2PS(d, d.AsY())
	}
	VINSERTI64X4(Imm(1), d[1].AsY(), d[0], x)
	Quieted(x)
}
