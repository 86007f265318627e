package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The vocabulary of kernels whose registers have 64 bytes: AVX-512 with F, BW,
// VL, DQ and VBMI. They take 32 elements a step, as two registers of float32,
// or as one of words.
//
// Those of AVX512_BF16 are the same but for how they round to words.

// A zkernel writes one target.
type zkernel struct {
	wide, narrow bool // as in kernel
	short        bool // rounds to words by one instruction
	dst, src     Register
	size         Register              // of a block, where that is no constant
	tops         VecVirtual            // 8000 in each word, to F32 and F16 in each dword
	ones         VecVirtual            // 1 in each word
	upper, lower VecVirtual            // where the words of two registers of dwords lie
	shared       map[string]VecVirtual // what a layout keeps over all steps
	list         Register              // a table of the package
	frame        Register              // its local memory, at a multiple of 64
}

// own is a label that no other part of the kernel has.
func own(name string) string {
	owned[name]++
	return fmt.Sprint(name, owned[name])
}

var owned = map[string]int{}

// zbeginBlocks begins a kernel of blocks, which returns how many are left.
func zbeginBlocks(l zlayout, t int) *zkernel {
	return zbeginReturning(l.name, t, l.takes+", n int", " (left int)", "decodes up to n blocks, up to the first whose scale is not finite, and returns how many are left.")
}

// zbegin begins the function name of one target, the t-th: it loads dst, src,
// and what storing needs.
func zbegin(name string, t int, params, doc string) *zkernel {
	return zbeginReturning(name, t, params, "", doc)
}

func zbeginReturning(name string, t int, params, result, doc string) *zkernel {
	z := &zkernel{wide: targets[t].wide, narrow: targets[t].narrow, short: short, shared: map[string]VecVirtual{}}
	name += targets[t].name + "AVX512"
	if short {
		name += "BF16"
	}
	clear(owned)
	function(name, "func(dst *byte, src *byte"+params+")"+result, doc)
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

// zquieted makes every NaN 7FC00000.
func zquieted(x VecVirtual) {
	k := K()
	VCMPPS(Imm(3), x, x, k)
	VPBROADCASTD(dwords(0x7FC00000), k, x)
}

// Numbers.

// put writes 32 numbers, sixteen and sixteen, which it destroys. A NaN must be 7FC00000.
func (z *zkernel) put(at int, a, b VecVirtual) {
	if !z.wide {
		VMOVDQU16(z.bfloats(a, b), z.to(at))
		return
	}
	for i, x := range [2]VecVirtual{a, b} {
		if z.narrow {
			VCVTPS2PH(Imm(0), x, z.to(at+16*i))
		} else {
			VMOVUPS(x, z.to(at+16*i))
		}
	}
}

// bfloats rounds 32 numbers to words.
func (z *zkernel) bfloats(a, b VecVirtual) VecVirtual {
	if z.short {
		return shortened(a, b)
	}
	return z.nearest(a, b)
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
