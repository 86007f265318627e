package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zsmall is a scale so small that products may be subnormal, as [small] and
// [little] are: no product that is gives them. Of a magnitude times 2^64 times
// the scale, and of half of that added to 2^63 units of subnormal numbers, the
// larger one, as integers, is the product's bits and 2^64's.
type zsmall struct {
	sign, infinite VecVirtual
	unit           VecVirtual
	times, half    VecVirtual
	signed         VecVirtual // times, with the scale's sign
	less           VecVirtual // what the bits are more, and the scale's sign
}

// newZsmall takes a scale with the sign that products want. One that is
// subnormal is counted.
func newZsmall(scale VecVirtual) *zsmall {
	s := &zsmall{
		sign: all(0x80000000), infinite: all(0x7F800000), unit: all(smallShift << 23),
		times: ZMM(), half: ZMM(), signed: ZMM(), less: ZMM(),
	}
	bits, normal := ZMM(), K()
	VPANDND(scale, s.sign, bits)
	VPCMPD_BCST(Imm(6), dwords(0x007FFFFF), bits, normal)
	VCVTDQ2PS(bits, s.times)
	VPSUBD_BCST(dwords((149-smallShift)<<23), s.times, s.times)
	VPADDD(s.unit, bits, normal, s.times)
	VPSUBD_BCST(dwords(1<<23), s.times, s.half)
	VPANDD(scale, s.sign, s.less)
	VPORD(s.less, s.times, s.signed)
	VPORD(s.unit, s.less, s.less)
	return s
}

// product multiplies x, as ever where it is infinite or NaN.
func (s *zsmall) product(x VecVirtual) {
	m, p, special := ZMM(), ZMM(), K()
	VPANDND(x, s.sign, m)
	VPCMPD(Imm(5), s.infinite, m, special)
	VMULPS(s.times, m, p)
	VFMADD213PS(s.unit, s.half, m)
	s.finish(p, m, x)
	VMULPS(s.signed, x, special, p)
	VMOVAPS(p, x)
}

// finish takes the larger one, the shift off, and the sign of x.
func (s *zsmall) finish(p, m, x VecVirtual) {
	VPMAXSD(m, p, p)
	VPSUBD(s.less, p, p)
	VPTERNLOGD(Imm(0x78), s.sign, x, p) // p ^ x & sign
}

// join is what [op.join] is.
func (s *zsmall) join(o op, p pair, x VecVirtual) {
	if o.name == "Shift" {
		VSUBPS(p.m, x, x)
	}
	s.product(x)
	if o.name == "Affine" {
		VADDPS(p.m, x, x)
	}
}

// ifSmall leaves for "small" where the scale of the run is above zero and at
// most as many bits as that.
func (z *zruns) ifSmall(most Op) { ifBelow(Mem{Base: z.a}, most, "small") }

// ifBelow leaves where the number at m is above zero and at most as many bits
// as that.
func ifBelow(m Mem, most Op, label string) {
	bits := GP32()
	MOVL(m, bits)
	and32(bits, 0x7FFFFFFF)
	DECL(bits) // zero makes no stalls
	CMPL(bits, most)
	JCS(LabelRef(label))
}

// sane is littleMost less one where the factor at m is neither very small nor
// very large, infinite or NaN, and zero where it is.
func sane(m Mem) Register {
	bits, most, none := GP32(), GP32(), GP32()
	MOVL(m, bits)
	and32(bits, 0x7FFFFFFF)
	SUBL(U32((127-60)<<23), bits)
	MOVL(U32(littleMost-1), most)
	XORL(none, none)
	CMPL(bits, U32(120<<23))
	CMOVLHI(none, most)
	return most
}
