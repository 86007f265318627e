package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zraised is for whole numbers under scales so small that what they come to may
// be subnormal. Scales are enlarged by 2^64: what is multiplied or added under them
// is then normal, and rounds as it should, since all of it is whole numbers of the
// least subnormal one. To a number below least, which is subnormal, least is added,
// and any other to itself: both then have the bits of the result, and those of
// least, and no bit of a subnormal number is lost or rounded twice.
type zraised struct{ least VecVirtual }

const raisedBits = (smallShift + 1) << 23

func newZraised() zraised { return zraised{all(raisedBits)} }

// larger is the larger one of least and x, with the sign of x.
func (r zraised) larger(x VecVirtual) VecVirtual {
	y := ZMM()
	VRANGEPS(Imm(3), r.least, x, y)
	return y
}

// raise is for sums, and for products of whole numbers.
func (r zraised) raise(x VecVirtual) { VADDPS(r.larger(x), x, x) }

// product multiplies x, which is no whole number, and rounds once.
func (r zraised) product(d, x VecVirtual) {
	p := ZMM()
	VMULPS(d, x, p)
	VFMADD213PS(r.larger(p), d, x)
}

// zenlarged multiplies a number, the same in all lanes, by 2^up. It may be
// subnormal, hence by doubles.
func zenlarged(x VecVirtual, up int) {
	d := ZMM()
	VCVTPS2PD(x.AsY(), d)
	VMULPD_BCST(qwords(math.Float64bits(math.Ldexp(1, up))), d, d)
	VCVTPD2PS(d, x.AsY())
	VBROADCASTSS(x.AsX(), x)
}

// put writes 32 numbers to F32 or BF16, turned where they have the other sign.
func (r zraised) put(z *zkernel, at int, x [2]VecVirtual, turned bool) {
	less := uint32(raisedBits)
	if turned {
		less |= 1 << 31
	}
	if z.float32() {
		for i, x := range x {
			VPSUBD_BCST(dwords(less), x, x)
			VMOVUPS(x, z.to(at+16*i))
		}
		return
	}
	s := z.sign
	z.sign = same
	w := z.bfloats(x[0], x[1])
	z.sign = s
	VPSUBW(words64(func(int) int { return int(less >> 16) }), w, w)
	VMOVDQU16(w, z.to(at))
}

// flushed gives a scale so small that to F16 every product is zero a magnitude
// that makes no product subnormal.
func flushed(d VecVirtual) {
	VPANDD_BCST(dwords(0x80000000), d, d)
	VPORD_BCST(dwords(littleMost), d, d)
}
