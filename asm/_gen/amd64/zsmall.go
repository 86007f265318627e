package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// ifSmall leaves for "small" where the scale of the run is above zero and at
// most as many bits as that.
func (z *zruns) ifSmall(most Op) { ifBelow(Mem{Base: z.a}, most, "small") }

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
