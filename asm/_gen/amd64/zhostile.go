package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Books under numbers that are not plain. On Intel each instruction that makes a
// subnormal number of normal ones, or multiplies one, takes a hundred cycles, so
// there is none. A small scale is 2^127 times as large, and so is a product; half
// of that added to 1 has as many bits as a subnormal number can have. The larger one
// of the two, less 127 of its exponent, is the product: as in zlesser.go.
//
// A book whose numbers are not ordinary is multiplied in double precision, which
// has neither the one nor the other.

// A zrange is magnitudes from the least on, so many of them.
type zrange struct{ least, span VecVirtual }

// A zheld is what sixteen runs hold in memory, a dword each: the scale, with the
// other sign but for sums, its magnitude, and the second number; 1 or 2 where those
// are enlarged, and what an operation needs else; and what is added to the bits of
// products, which turns their sign again and rounds.
type zheld struct {
	at                     Register
	scale, size, one, more Mem
	second, half           Mem
}

// enlarged is how many exponents small numbers go up, as bits.
const enlarged = 127 << 23

// classes finds out what a book is, and which numbers of runs are plain.
func (k *zbook) classes() {
	const least, span = (127 - 20) << 23, 51 << 23
	x, odd := ZMM(), K()
	k.some = K()
	VPANDD_BCST(dwords(0x7FFFFFFF), k.book, x)
	VPTESTMD(x, x, k.some)
	VPSUBD_BCST(dwords(least), x, x)
	VPCMPUD_BCST(Imm(5), dwords(span), x, k.some, odd)
	if k.name == "Shift" { // of which the difference to zero has no sign
		negative := K()
		VPCMPUD_BCST(Imm(0), dwords(0x80000000), k.book, negative)
		KORW(odd, negative, odd)
	}
	k.hostile, k.mode = GP64(), GP64()
	plain, exact, none := GP32(), GP64(), GP32()
	MOVQ(U32(smallRuns), k.hostile)
	MOVQ(U32(exactRuns), exact)
	MOVL(U32(160<<23), plain)
	XORL(none, none)
	KORTESTW(odd, odd)
	CMOVQNE(exact, k.hostile)
	CMOVLNE(none, plain)
	k.tests[0] = zrange{all((127 - 80) << 23), ZMM()}
	VPBROADCASTD(plain, k.tests[0].span)
	switch k.name {
	case "Shift":
		k.tests[1] = zrange{all(least), all(span)}
	case "Affine":
		k.tests[1] = zrange{all((127 - 100) << 23), all(200 << 23)}
	}
	k.half = ZMM()
	VPANDD_BCST(dwords(0x7FFFFFFF), k.book, k.half)
	VPSUBD_BCST(dwords(1<<23), k.half, k.some, k.half)
	k.doubles = inDoubles(k.book)
	switch k.name {
	case "Shift":
		k.sizes, k.zeros = all(0x7FFFFFFF), K()
		KNOTW(k.some, k.zeros)
		bits := GP32()
		KMOVW(k.zeros, bits)
		k.zeroBits = bits
	case "Affine":
		k.sign, k.two, k.quiet = all(0x80000000), all(128<<23), all(0x7FC00000)
		k.fixup = all(0x11111100) // takes all classes but NaN
	}
	k.held.at = GP64()
	for _, m := range []*Mem{&k.held.scale, &k.held.size, &k.held.one, &k.held.more, &k.held.second, &k.held.half} {
		*m = k.room(64)
	}
}

// look says of so many runs whether they are plain, and prepares them if not.
func (k *zbook) look(runs Register) {
	every, r := K(), GP32()
	MOVL(U32(0xFFFF), r)
	BZHIL(runs.(GPVirtual).As32(), r, r)
	KMOVW(r, every)
	s, y, odd := ZMM(), ZMM(), K()
	VMOVDQU32_Z(Mem{Base: k.a}, every, s)
	VPANDD_BCST(dwords(0x7FFFFFFF), s, y)
	VPSUBD(k.tests[0].least, y, y)
	VPCMPUD(Imm(5), k.tests[0].span, y, every, odd)
	k.numbers[0] = s
	if k.name != "Scale" {
		s, y, some, also := ZMM(), ZMM(), K(), K()
		VMOVDQU32_Z(Mem{Base: k.b}, every, s)
		VPANDD_BCST(dwords(0x7FFFFFFF), s, y)
		if k.name == "Shift" {
			VPTESTMD(y, y, some)
		} else {
			VPTESTMD(s, s, some) // zero with a sign is not plain
		}
		VPSUBD(k.tests[1].least, y, y)
		VPCMPUD(Imm(5), k.tests[1].span, y, some, also)
		KORW(odd, also, odd)
		k.numbers[1] = s
	}
	XORL(k.mode.(GPVirtual).As32(), k.mode.(GPVirtual).As32())
	KORTESTW(odd, odd)
	JNZ(LabelRef("prepare"))
}

// hold turns to what the runs hold.
func (k *zbook) hold() {
	MOVQ(k.hostile, k.mode)
	MOVQ(k.frame, k.held.at)
}

// turned is the bit that settled scales have turned.
func (k *zbook) turned() uint32 {
	if k.name == "Affine" {
		return 0
	}
	return 0x80000000
}

// more is what is added to the bits of all products.
func (k *zbook) more() VecVirtual {
	round := k.turned()
	if !k.wide {
		round += roundPlain
	}
	return all(round)
}

func keep(x VecVirtual, m Mem) { VMOVDQU64(x, m) }

// magnitude is x without its sign.
func magnitude(x VecVirtual) VecVirtual {
	y := ZMM()
	VPANDD_BCST(dwords(0x7FFFFFFF), x, y)
	return y
}

// smallOf is which magnitudes are above zero and below what is plain; none if the
// book is not ordinary.
func (k *zbook) smallOf(x VecVirtual) OpmaskVirtual {
	some, small := K(), K()
	VPTESTMD(x, x, some)
	VPCMPUD(Imm(1), k.tests[0].least, x, some, small)
	return small
}

// enlarge makes some magnitudes 2^127 times as large, in place.
func enlarge(x VecVirtual, which OpmaskVirtual) {
	large, normal := ZMM(), K()
	VCVTDQ2PS(x, large)
	VPSUBD_BCST(dwords(149<<23-enlarged), large, large)
	VPCMPUD_BCST(Imm(6), dwords(0x007FFFFF), x, which, normal)
	VPADDD_BCST(dwords(enlarged), x, normal, large)
	VMOVDQA32(large, which, x)
}

// where is a number in some lanes, and zero in the others.
func where(v uint32, which OpmaskVirtual) VecVirtual {
	x := ZMM()
	VPBROADCASTD_Z(dwords(v), which, x)
	return x
}

// signs is a magnitude with the sign of another number, or with the other one.
func signs(x, of VecVirtual, turned bool) VecVirtual {
	y, imm := ZMM(), uint64(0xEC) // x | of & sign
	if turned {
		imm = 0xCE // x | ^of & sign
	}
	VMOVDQA64(of, y)
	VPTERNLOGD_BCST(Imm(imm), dwords(0x80000000), x, y)
	return y
}

// of is what a run of those that are left holds.
func (k *zbook) of(m Mem, run int) Mem { return Mem{Base: k.held.at, Disp: m.Disp + 4*run} }

// rounded makes a table of products.
func (k *zbook) rounded(x VecVirtual, run int) {
	odd := K()
	if !k.wide {
		VPTESTMD(k.last, x, odd)
	}
	if k.name != "Affine" || !k.narrow {
		VPADDD_BCST(k.of(k.held.more, run), x, x)
	}
	switch {
	case k.narrow:
		VCVTPS2PH(Imm(0), x, x.AsY())
	case !k.wide:
		VPADDD(k.one, x, odd, x)
	}
}
