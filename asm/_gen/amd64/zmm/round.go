package zmm

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Put writes 32 numbers, sixteen and sixteen, which it destroys. A NaN must be 7FC00000.
func (z *Kernel) Put(at int, a, b VecVirtual) {
	if !z.Wide {
		VMOVDQU16(z.nearest(a, b), z.To(at))
		return
	}
	for i, x := range [2]VecVirtual{a, b} {
		if z.Narrow {
			VCVTPS2PH(Imm(0), x, z.To(at+16*i))
		} else {
			VMOVUPS(x, z.To(at+16*i))
		}
	}
}

// nearest rounds 32 numbers to words, to nearest and ties to even: up where what is cut off is above
// one half, or is one half below an odd number.
func (z *Kernel) nearest(a, b VecVirtual) VecVirtual {
	high := Into(ZMM(), VMOVDQA64, a)
	VPERMT2W(b, z.upper, high)
	VPERMT2W(b, z.lower, a)
	VPTERNLOGD(Imm(OrAnd), z.ones, high, a)     // a | high & 1
	up := Into(K(), VPCMPUW, Imm(6), z.tops, a) // greater
	VPADDW(z.ones, high, up, high)
	return high
}

// RoundPlain rounds to words as integers: this much is added, and one more where the
// upper word is odd.
const RoundPlain = 0x7FFF

// Quieted makes every NaN 7FC00000.
func Quieted(x VecVirtual) {
	k := Into(K(), VCMPPS, Imm(3), x, x)
	VPBROADCASTD(Dwords(0x7FC00000), k, x)
}
