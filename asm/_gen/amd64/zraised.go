package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zraised is for whole numbers under scales so small that what they come to may
// be subnormal. Scales are enlarged by 2^96: what is multiplied or added under them
// is then normal, and rounds as it should, since all of it is whole numbers of the
// least subnormal one. To a number below least, which is subnormal, least is added,
// and any other to itself: both then have the bits of the result, and those of
// least, and no bit of a subnormal number is lost or rounded twice.
type zraised struct{ least VecVirtual }

const (
	raisedShift = 96
	raisedBits  = (raisedShift + 1) << 23
)

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

// zenlargedAt is the number at m times 2^up in all lanes, zero or below 2^(127-up).
// Ports of vectors are what runs are short of, so a subnormal one is shifted.
func zenlargedAt(m Mem, up int) VecVirtual {
	bits, sign, highest, by, zero, x := GP32(), GP32(), GP32(), GP32(), GP32(), ZMM()
	MOVL(m, bits)
	MOVL(bits, sign)
	and32(bits, 0x7FFFFFFF)
	XORL(bits, sign)
	XORL(zero, zero)
	LEAL(Mem{Base: bits, Index: bits, Scale: 1, Disp: 1}, highest)
	BSRL(highest, highest)
	MOVL(U32(24), by)
	SUBL(highest, by)
	CMOVLCS(zero, by)
	SHLXL(by, bits, bits)
	SHLL(Imm(23), by)
	SUBL(by, bits)
	ADDL(U32(up<<23), bits)
	CMPL(by, U32(24<<23)) // zero
	CMOVLEQ(zero, bits)
	ORL(sign, bits)
	VPBROADCASTD(bits, x)
	return x
}

// put writes 32 numbers to F32 or BF16.
func (r zraised) put(z *zkernel, at int, x [2]VecVirtual) {
	if z.float32() {
		for i, x := range x {
			VPSUBD_BCST(dwords(raisedBits), x, x)
			VMOVUPS(x, z.to(at+16*i))
		}
		return
	}
	s := z.sign
	z.sign = same
	w := z.bfloats(x[0], x[1])
	z.sign = s
	VPSUBW(words64(func(int) int { return raisedBits >> 16 }), w, w)
	VMOVDQU16(w, z.to(at))
}
