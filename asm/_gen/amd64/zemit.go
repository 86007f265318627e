package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The vocabulary of kernels whose registers have 64 bytes: AVX-512 with F, BW,
// VL, DQ and VBMI. They take 32 elements a step, as two registers of float32,
// or as one of words.
//
// Those of AVX512_BF16 are the same but for how they round to words.

// A sign is what the numbers of a kernel look like before they are stored.
type sign int

const (
	same   sign = iota // as they are; a NaN is 7FC00000
	minus              // the other sign; a NaN is FFC00000: products of settled scales
	either             // as they are; a NaN is 7FC00000 or FFC00000
)

// A zkernel writes one target.
type zkernel struct {
	wide, narrow bool // as in kernel
	short        bool // rounds to words by one instruction
	sign         sign
	dst, src     Register
	tops         VecVirtual            // 8000 in each word, to F32 and F16 in each dword
	ones         VecVirtual            // 1 in each word
	upper, lower VecVirtual            // where the words of two registers of dwords lie
	shared       map[string]VecVirtual // what a layout keeps over all steps
}

// zbegin begins the function name of one target, the t-th: it loads dst, src,
// and what storing needs.
func zbegin(name string, t int, params, doc string, s sign) *zkernel {
	z := &zkernel{wide: targets[t].wide, narrow: targets[t].narrow, short: short, sign: s, shared: map[string]VecVirtual{}}
	name += targets[t].name + "AVX512"
	if short {
		name += "BF16"
	}
	TEXT(name, NOSPLIT, "func(dst *byte, src *byte"+params+")")
	Pragma("noescape")
	Doc(name + " " + doc)
	z.dst, z.src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	z.begin()
	return z
}

// begin loads what storing needs.
func (z *zkernel) begin() {
	if z.wide {
		z.tops = all(0x80000000)
		return
	}
	z.tops = all(0x80008000)
	if !z.short {
		z.steps()
	}
}

// steps loads what rounding takes that is no single instruction.
func (z *zkernel) steps() {
	z.ones = all(0x00010001)
	z.upper = zload(words64(func(i int) int { return 2*i + 1 }))
	z.lower = zload(words64(func(i int) int { return 2 * i }))
}

// zend ends a function.
func zend() {
	VZEROUPPER()
	RET()
}

func (z *zkernel) width() int {
	if z.wide && !z.narrow {
		return 4
	}
	return 2
}

func (z *zkernel) from(off int) Mem { return Mem{Base: z.src, Disp: off} }
func (z *zkernel) to(elem int) Mem  { return Mem{Base: z.dst, Disp: elem * z.width()} }

// float32 reports a kernel to F32.
func (z *zkernel) float32() bool { return z.wide && !z.narrow }

// Constants.

// bytes64 is 64 bytes, as a function of their place.
func bytes64(of func(i int) int) Mem {
	var p [64]byte
	for i := range p {
		p[i] = byte(of(i))
	}
	return data(p[:])
}

// words64 is 32 words.
func words64(of func(i int) int) Mem {
	return bytes64(func(i int) int { return of(i/2) >> (i % 2 * 8) })
}

// dwords64 is 16 dwords.
func dwords64(of func(i int) int) Mem {
	return bytes64(func(i int) int { return of(i/4) >> (i % 4 * 8) })
}

// all is a dword in all lanes.
func all(v uint32) VecVirtual {
	x := ZMM()
	VPBROADCASTD(dwords(v), x)
	return x
}

// zload is 64 bytes of memory.
func zload(m Mem) VecVirtual {
	x := ZMM()
	VMOVDQU64(m, x)
	return x
}

// mask is a mask of constant bits.
func mask(bits uint64) OpmaskVirtual {
	r, k := GP64(), K()
	MOVQ(U64(bits), r)
	KMOVQ(r, k)
	return k
}

// Scales.

// zsingle is the float32 at m in all lanes.
func zsingle(m Mem) VecVirtual {
	x := ZMM()
	VBROADCASTSS(m, x)
	return x
}

// zhalf is the float16 at m in all lanes.
func zhalf(m Mem) VecVirtual {
	h, x := YMM(), ZMM()
	VPBROADCASTW(m, h)
	VCVTPH2PS(h, x)
	return x
}

// nanOf replaces each NaN.
func nanOf(x VecVirtual, nan uint32) {
	k := K()
	VCMPPS(Imm(3), x, x, k)
	VPBROADCASTD(dwords(nan), k, x)
}

// zquieted makes every NaN 7FC00000.
func zquieted(x VecVirtual) { nanOf(x, 0x7FC00000) }

// zcanonical makes every NaN FFC00000: what this processor makes of infinity
// times zero.
func zcanonical(x VecVirtual) { nanOf(x, 0xFFC00000) }

// settled makes scales what the products of the kernel's sign need: a NaN that
// is canonical, and where numbers are turned the other sign.
func (z *zkernel) settled(x VecVirtual) {
	if z.sign == minus {
		VXORPS_BCST(dwords(0x80000000), x, x)
		zcanonical(x)
		return
	}
	zquieted(x)
}

// Numbers.

// put writes 32 numbers, sixteen and sixteen, which it destroys.
func (z *zkernel) put(at int, a, b VecVirtual) {
	if !z.wide {
		VMOVDQU16(z.bfloats(a, b), z.to(at))
		return
	}
	for i, x := range [2]VecVirtual{a, b} {
		z.finish(x)
		if z.narrow {
			VCVTPS2PH(Imm(0), x, z.to(at+16*i))
		} else {
			VMOVUPS(x, z.to(at+16*i))
		}
	}
}

// finish gives numbers their sign, and a NaN that is 7FC00000.
func (z *zkernel) finish(x VecVirtual) {
	switch z.sign {
	case minus:
		VXORPS(z.tops, x, x)
	case either:
		zquieted(x)
	}
}

// bfloats rounds 32 numbers to words and gives them their sign.
func (z *zkernel) bfloats(a, b VecVirtual) VecVirtual {
	var w VecVirtual
	if z.short {
		w = shortened(a, b)
	} else {
		w = z.nearest(a, b)
	}
	switch z.sign {
	case minus:
		VPXORD(z.tops, w, w)
	case either:
		nan := K()
		VPCMPEQW(words64(func(int) int { return 0xFFC0 }), w, nan)
		VMOVDQU16(words64(func(int) int { return 0x7FC0 }), nan, w)
	}
	return w
}

// nearest rounds to nearest and ties to even: up where what is cut off is above
// one half, or is one half below an odd number.
func (z *zkernel) nearest(a, b VecVirtual) VecVirtual {
	high, up := ZMM(), K()
	VMOVDQA64(a, high)
	VPERMT2W(b, z.upper, high)
	VPERMT2W(b, z.lower, a)
	VPTERNLOGD(Imm(0xF8), z.ones, high, a) // a | high & 1
	VPCMPUW(Imm(6), z.tops, a, up)         // greater
	VPADDW(z.ones, high, up, high)
	return high
}

// Codes.

// Codes are 32 numbers of few bits: one register of words, or to F32 two of
// dwords. Lookups take as many of their lower bits as the table has entries
// for, so that what stands above needs no mask.
type zcodes []VecVirtual

// codes widens 32 bytes of memory.
func (z *zkernel) codes(m Mem) zcodes {
	if !z.float32() {
		x := ZMM()
		VPMOVZXBW(m, x)
		return zcodes{x}
	}
	return zcodes{zunsigned(m), zunsigned(m.Offset(16))}
}

// above is the codes moved down by n bits.
func (z *zkernel) above(c zcodes, n int) (out zcodes) {
	for _, x := range c {
		y := ZMM()
		if z.float32() {
			VPSRLD(Imm(uint64(n)), x, y)
		} else {
			VPSRLW(Imm(uint64(n)), x, y)
		}
		out = append(out, y)
	}
	return out
}

// zunsigned widens sixteen bytes to dwords, zsigned signed ones.
func zunsigned(m Mem) VecVirtual {
	x := ZMM()
	VPMOVZXBD(m, x)
	return x
}

func zsigned(m Mem) VecVirtual {
	x := ZMM()
	VPMOVSXBD(m, x)
	return x
}

// zfloats makes numbers of dwords, in place.
func zfloats(x ...VecVirtual) {
	for _, x := range x {
		VCVTDQ2PS(x, x)
	}
}

// Tables.

// A ztable is what 16 or 32 codes come to, rounded and in the target's form: 32
// words, sixteen being there twice, or one or two registers of dwords.
type ztable []VecVirtual

// table16 rounds sixteen numbers of the kernel's sign, which it destroys.
func (z *zkernel) table16(x VecVirtual) ztable {
	if z.wide {
		z.finish(x)
		if z.narrow {
			VCVTPS2PH(Imm(0), x, x.AsY())
			VINSERTI64X4(Imm(1), x.AsY(), x, x)
		}
		return ztable{x}
	}
	if z.short {
		return z.table32(x, x)
	}
	add := uint32(roundPlain)
	switch z.sign {
	case minus:
		add = roundTurn
	case either:
		zquieted(x)
	}
	// One register of dwords: it is rounded by addition, one more where the
	// upper half is odd.
	odd, t := K(), zload(words64(func(i int) int { return 2*(i%16) + 1 }))
	VPTESTMD_BCST(dwords(0x10000), x, odd)
	VPADDD_BCST(dwords(add), x, x)
	VPADDD_BCST(dwords(1), x, odd, x)
	VPERMW(x, t, t)
	return ztable{t}
}

// table32 rounds 32 numbers of the kernel's sign, which it destroys.
func (z *zkernel) table32(a, b VecVirtual) ztable {
	if !z.wide {
		return ztable{z.bfloats(a, b)}
	}
	z.finish(a)
	z.finish(b)
	if !z.narrow {
		return ztable{a, b}
	}
	VCVTPS2PH(Imm(0), a, a.AsY())
	VCVTPS2PH(Imm(0), b, b.AsY())
	VINSERTI64X4(Imm(1), b.AsY(), a, a)
	return ztable{a}
}

// cut16 is table16 of numbers that words hold exactly, and whose NaN is 7FC00000.
func (z *zkernel) cut16(x VecVirtual) ztable {
	if z.wide {
		return z.table16(x)
	}
	t := zload(words64(func(i int) int { return 2*(i%16) + 1 }))
	VPERMW(x, t, t)
	return ztable{t}
}

// cut32 is table32 of such numbers.
func (z *zkernel) cut32(a, b VecVirtual) ztable {
	if z.wide {
		return z.table32(a, b)
	}
	VPERMT2W(b, z.upper, a)
	return ztable{a}
}

// lookup writes what a table has for 32 codes.
func (z *zkernel) lookup(at int, c zcodes, t ztable) {
	for i, codes := range c {
		x := ZMM()
		switch {
		case !z.float32():
			VPERMW(t[0], codes, x)
		case len(t) == 1:
			VPERMD(t[0], codes, x)
		default:
			VMOVDQA64(codes, x)
			VPERMI2D(t[1], t[0], x)
		}
		VMOVDQU64(x, z.to(at+16*i))
	}
}

// declare sets what a layout keeps, before the loops.
func (z *zkernel) declare(name string, set func() VecVirtual) { z.shared[name] = set() }
