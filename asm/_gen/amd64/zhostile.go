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
// of the two, less 127 of its exponent, is the product: as in zsmall.go.
//
// A book whose numbers are not ordinary is multiplied in double precision, which
// has neither the one nor the other.

// A zrange is magnitudes from the least on, so many of them.
type zrange struct{ least, span VecVirtual }

// A zheld is what sixteen runs hold in memory, a dword each: the scale, with the
// other sign, and its magnitude; 1 where that is enlarged; and what is added to the
// bits of products, which turns their sign again.
type zheld struct {
	at                     Register
	scale, size, one, more Mem
	second                 Mem
}

// small is the exponent of what scales that are small are multiplied with.
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
	k.hostile, k.mode = GP64(), GP64()
	plain, exact, none, every := GP32(), GP64(), GP32(), GP32()
	MOVQ(U32(smallRuns), k.hostile)
	MOVQ(U32(exactRuns), exact)
	MOVL(U32(160<<23), plain)
	XORL(none, none)
	KORTESTW(odd, odd)
	CMOVQNE(exact, k.hostile)
	CMOVLNE(none, plain)
	MOVL(U32(0xFFFF), every)
	CMOVLNE(none, every)
	k.ordinary = every
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
	k.doubles = [2]VecVirtual{ZMM(), ZMM()}
	VCVTPS2PD(k.book.AsY(), k.doubles[0])
	VEXTRACTI64X4(Imm(1), k.book, x.AsY())
	VCVTPS2PD(x.AsY(), k.doubles[1])
	k.held = zheld{GP64(), k.room(64), k.room(64), k.room(64), k.room(64), k.room(64)}
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

// prepare brings the numbers of sixteen runs into memory.
func (k *zbook) prepare() {
	s, x, scale, more := k.numbers[0], ZMM(), ZMM(), ZMM()
	MOVQ(k.hostile, k.mode)
	MOVQ(k.frame, k.held.at)
	turn := uint32(0x80000000)
	if k.name == "Affine" {
		turn = 0
	}
	round := turn
	if !k.wide {
		round += roundPlain
	}
	VPANDD_BCST(dwords(0x7FFFFFFF), s, x)
	VPBROADCASTD(dwords(round), more)
	if k.name == "Scale" {
		k.enlarge(x, more)
	}
	if turn != 0 {
		VMOVDQA64(s, scale)
		VPTERNLOGD_BCST(Imm(0xCE), dwords(turn), x, scale) // x | ^s & turn
	} else {
		VMOVDQA64(s, scale)
	}
	nan := uint32(0x7FC00000)
	VMOVDQU64(k.numbered(scale, nan|turn), k.held.scale)
	VMOVDQU64(more, k.held.more)
	if k.name == "Scale" {
		VMOVDQU64(k.numbered(x, nan), k.held.size)
	} else {
		VMOVDQU64(k.numbered(k.numbers[1], nan|turn), k.held.second)
	}
}

// numbered makes each NaN that one.
func (k *zbook) numbered(x VecVirtual, nan uint32) VecVirtual {
	nanOf(x, nan)
	return x
}

// enlarge makes small magnitudes of scales large, and keeps which.
func (k *zbook) enlarge(x, more VecVirtual) {
	large, one := ZMM(), ZMM()
	some, small, normal := K(), K(), K()
	KMOVW(k.ordinary, small)
	VPTESTMD(x, x, small, some)
	VPCMPUD(Imm(1), k.tests[0].least, x, some, small)
	VCVTDQ2PS(x, large)
	VPSUBD_BCST(dwords(149<<23-enlarged), large, large)
	VPCMPUD_BCST(Imm(6), dwords(0x007FFFFF), x, small, normal)
	VPADDD_BCST(dwords(enlarged), x, normal, large)
	VMOVDQA32(large, small, x)
	VPBROADCASTD_Z(dwords(127<<23), small, one)
	VPSUBD_BCST(dwords(enlarged), more, small, more)
	VMOVDQU64(one, k.held.one)
}

// of is what a run of those that are left holds.
func (k *zbook) of(m Mem, run int) Mem { return Mem{Base: k.held.at, Disp: m.Disp + 4*run} }

// small is what an ordinary book comes to, as a table.
func (k *zbook) small(x VecVirtual, run int) {
	p, f := ZMM(), ZMM()
	VMULPS_BCST(k.of(k.held.scale, run), k.book, p)
	VPBROADCASTD(k.of(k.held.size, run), f)
	VFMADD213PS_BCST(k.of(k.held.one, run), k.half, f)
	VRANGEPS(Imm(3), f, p, x) // the larger one, with the sign of the product
	k.rounded(x, run)
}

// rounded makes a table of products.
func (k *zbook) rounded(x VecVirtual, run int) {
	odd := K()
	if !k.wide {
		VPTESTMD(k.last, x, odd)
	}
	VPADDD_BCST(k.of(k.held.more, run), x, x)
	switch {
	case k.narrow:
		VCVTPS2PH(Imm(0), x, x.AsY())
	case !k.wide:
		VPADDD(k.one, x, odd, x)
	}
}

// exact computes in double precision, of which each step is rounded to single.
func (k *zbook) exact(x VecVirtual, run int) {
	s, z, p := ZMM(), ZMM(), [2]VecVirtual{ZMM(), ZMM()}
	VCVTPS2PD_BCST(k.of(k.held.scale, run), s)
	if k.name != "Scale" {
		VCVTPS2PD_BCST(k.of(k.held.second, run), z)
	}
	for i, p := range p {
		from := k.doubles[i]
		single := func() {
			VCVTPD2PS(p, p.AsY())
			VCVTPS2PD(p.AsY(), p)
		}
		if k.name == "Shift" {
			VSUBPD(z, from, p)
			single()
			from = p
		}
		VMULPD(s, from, p)
		if k.name == "Affine" {
			single()
			VADDPD(z, p, p)
		}
		VCVTPD2PS(p, p.AsY())
	}
	VINSERTI64X4(Imm(1), p[1].AsY(), p[0], x)
	if k.name == "Affine" {
		zquieted(x)
	}
	k.rounded(x, run)
}
