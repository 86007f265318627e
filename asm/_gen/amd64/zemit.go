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
	same   sign = iota // as they are: none is NaN, or 7FC00000
	minus              // the other sign; a NaN is FFC00000: products of settled scales
	either             // as they are; a NaN is 7FC00000 or FFC00000
)

// A zkernel writes one target.
type zkernel struct {
	wide, narrow bool // as in kernel
	short        bool // rounds to words by one instruction
	sign         sign
	dst, src     Register
	size         Register              // of a block, where that is no constant
	tops         VecVirtual            // 8000 in each word, to F32 and F16 in each dword
	ones         VecVirtual            // 1 in each word
	upper, lower VecVirtual            // where the words of two registers of dwords lie
	shared       map[string]VecVirtual // what a layout keeps over all steps
	list         Register              // a table of the package
	halves       OpmaskVirtual         // the upper half of each dword
	frame        Register              // its local memory, at a multiple of 64
	rooms        []Mem                 // parts of that
	used         int                   // how much of that a body has
}

// zbegin begins the function name of one target, the t-th: it loads dst, src,
// and what storing needs.
func zbegin(name string, t int, params, doc string, s sign) *zkernel {
	z := &zkernel{wide: targets[t].wide, narrow: targets[t].narrow, short: short, sign: s, shared: map[string]VecVirtual{}}
	name += targets[t].name + "AVX512"
	if short {
		name += "BF16"
	}
	function(name, "func(dst *byte, src *byte"+params+")", doc)
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

// Scales.

// zsingle is the float32 at m in all lanes.
func zsingle(m Mem) VecVirtual {
	x := ZMM()
	VPBROADCASTD(m, x)
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
	switch z.sign {
	case minus:
		VXORPS_BCST(dwords(0x80000000), x, x)
		zcanonical(x)
	case either:
		zquieted(x)
	}
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
	VPTERNLOGD(Imm(orAnd), z.ones, high, a) // a | high & 1
	VPCMPUW(Imm(6), z.tops, a, up)          // greater
	VPADDW(z.ones, high, up, high)
	return high
}

// declare sets what a layout keeps, before the loops.
func (z *zkernel) declare(name string, set func() VecVirtual) { z.shared[name] = set() }
