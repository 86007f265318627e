package zmm

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A Join is what makes a number of a code q, a scale s, and what else there is.
// Each step rounds to float32.
type Join string

const (
	JoinScale  Join = "Scale"  // q*s
	JoinShift  Join = "Shift"  // (q-z)*s
	JoinAffine Join = "Affine" // q*s + z
	JoinTwice  Join = "Twice"  // (q*s)*c, c being the same for all runs
)

// A Range is magnitudes that numbers of runs have in models, from the least to
// below the most; zero is one of them. Those of a scale and of its zero point or
// minimum together give numbers that are normal or zero: at least 2^-123, below 2^112.
type Range struct{ Least, Most int } // exponents

var (
	OrdinaryScale = Range{-80, 80}
	OrdinaryOther = map[Join]Range{JoinShift: {-20, 31}, JoinAffine: {-100, 100}}
)

// Unless leaves for a label where the number at m is out of range.
func (r Range) Unless(m Mem, label Place) {
	bits, zero := GP32(), NewLabel("zero")
	MOVL(m, bits)
	ADDL(bits, bits) // without its sign
	JZ(zero.Ref())
	SUBL(U32(uint32(127+r.Least)<<24), bits)
	CMPL(bits, U32(uint32(r.Most-r.Least)<<24))
	JCC(label.Ref())
	zero.Here()
}

// From is the least magnitude, as bits, and Width how many there are.
func (r Range) From() Mem  { return Dwords(uint32(127+r.Least) << 23) }
func (r Range) Width() Mem { return Dwords(uint32(r.Most-r.Least) << 23) }

// A Product is products with scales of any kind: infinite, NaN, or so small that what
// comes of them is subnormal. Intel's processors take a hundred cycles for a float32 factor
// or product that is subnormal, so those of a small scale s, one below 2^-80, are made
// 2^128 times as large, which in bits is one bit more:
//
//	p = x*(s*2^128), rounded as x*s is if that is a normal number, and
//	t = p/2 + 2, or p/2 - 2, rounded as x*s is if that is subnormal.
//
// The one of larger magnitude is right, but for that bit. A number x must not be
// subnormal, nor so large that x*s is above 1. Under other scales p is x*s, and t nothing.
type Product struct {
	Times, half VecVirtual // s*2^128, and half of it; or s, and zero
	two         VecVirtual // 2, which is also that bit; or zero
	signs       VecVirtual
	small       OpmaskVirtual
}

// NewProduct takes sixteen scales.
func NewProduct(scales VecVirtual) *Product {
	p := &Product{scales, ZMM(), ZMM(), All(0x80000000), K()}
	mag, large := ZMM(), ZMM()
	VPANDND(scales, p.signs, mag)
	VPCMPUD_BCST(Imm(1), OrdinaryScale.From(), mag, p.small)
	// To a subnormal number the exponent is added too, and the leading one that this
	// counts is taken off: the less of both is right.
	VPADDD_BCST(Dwords(129<<23), mag, large)
	VPADDD_BCST(Dwords(128<<23), mag, mag)
	VSUBPS_BCST(Dwords(129<<23), large, large)
	VMINPS(large, mag, mag)
	VPTERNLOGD(Imm(OrAnd), p.signs, scales, mag)
	VMOVAPS(mag, p.small, p.Times)
	VMULPS_BCST_Z(Floats(0.5), p.Times, p.small, p.half)
	VPBROADCASTD_Z(Dwords(1<<30), p.small, p.two)
	return p
}

// Of is the products of finite numbers, in place.
func (p *Product) Of(x VecVirtual) {
	y := Into(ZMM(), VMULPS, p.Times, x)
	p.larger(x, y)
	VPANDND(x, p.two, x)
}

// OfNegated is the same with the other sign.
func (p *Product) OfNegated(x VecVirtual) {
	y := Into(ZMM(), VMULPS, p.Times, x)
	p.larger(x, y)
	VPTERNLOGD(Imm(AndNotXor), p.signs, p.two, x)
}

// larger makes x the one of larger magnitude: of the product y, or of what its half is
// added to.
func (p *Product) larger(x, y VecVirtual) {
	t := Into(ZMM(), VMOVDQA64, p.two)
	VPTERNLOGD(Imm(OrAnd), p.signs, y, t)
	VFMADD231PS(p.half, x, t)
	VPMAXUD(t, y, x)
}

// OfAny is the products of any numbers: what is infinite or NaN stays what p is.
func (p *Product) OfAny(x VecVirtual) {
	y, odd := p.any(x)
	VPANDND(x, p.two, x)
	VMOVAPS(y, odd, x)
}

// OfAnyNegated is the same with the other sign.
func (p *Product) OfAnyNegated(x VecVirtual) {
	y, odd := p.any(x)
	VPTERNLOGD(Imm(AndNotXor), p.signs, p.two, x)
	VPXORD(p.signs, y, odd, x)
}

// any is products but for the bit, and which of them y are not finite.
func (p *Product) any(x VecVirtual) (y VecVirtual, odd OpmaskVirtual) {
	y, odd = ZMM(), K()
	VMULPS(p.Times, x, y)
	VFPCLASSPSZ(Imm(NotFinite), y, odd)
	p.larger(x, y)
	return y, odd
}

// NotFinite is the classes of VFPCLASS that are quiet NaN, both infinities, signaling NaN.
const NotFinite = 0x01 | 0x18 | 0x80

// By makes another number what others are multiplied by, which then come of products with
// these.
func (p *Product) By(last VecVirtual) {
	p.Times = last
	VMULPS_BCST_Z(Floats(0.5), last, p.small, p.half)
}

// Keep stores what products with sixteen scales take, at three places 64 bytes apart.
func (p *Product) Keep(m Mem) {
	for i, x := range []VecVirtual{p.Times, p.half, p.two} {
		VMOVDQU32(x, m.Offset(64*i))
	}
}

// At is products with one of them: of what is kept the one at m.
func (p *Product) At(m Mem) *Product {
	return &Product{Times: Single(m), half: Single(m.Offset(64)), two: Single(m.Offset(128)), signs: p.signs}
}

// Become makes some products those with a number and another scale.
func (p *Product) Become(scale Mem, times VecVirtual, some OpmaskVirtual) {
	VMULPS_BCST(scale, times, some, p.Times)
	VPXORD(p.half, p.half, some, p.half)
	VPXORD(p.two, p.two, some, p.two)
}

// ZeroPoint makes zero points such that what numbers are above them is neither subnormal
// nor small where [Product] takes it: a magnitude below 2^-100 becomes that, since with a
// small scale both come to nothing.
func (p *Product) ZeroPoint(zero VecVirtual) {
	const least = (127 - 100) << 23
	mag, tiny := ZMM(), K()
	VPANDND(zero, p.signs, mag)
	VPSUBD_BCST(Dwords(1), mag, mag) // nothing is above all others
	VPCMPUD_BCST(Imm(1), Dwords(least-1), mag, tiny)
	VPTERNLOGD(Imm(AndOr), All(least), p.signs, tiny, zero)
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
