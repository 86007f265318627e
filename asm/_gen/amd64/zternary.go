package main

import (
	. "github.com/mmcloughlin/avo/build"
)

// zfew is a table of few values, again and again, under the float16 at off.
func (z *zkernel) zfew(off int, v ...float32) ztable {
	d := zhalf(z.from(off))
	var again [16]float32
	for i := range again {
		again[i] = v[i%len(v)]
	}
	VMULPS(floats64(again), d, d)
	return z.table16(d)
}

// zq1 is a scale or its negative. To F16 it stays as it is.
func zq1(z *zkernel) {
	up, down := ZMM(), ZMM()
	if z.narrow {
		VPBROADCASTW(z.from(0), up)
	} else {
		up = z.zfew(0, 1)[0]
	}
	VPXORD_BCST(dwords(0x80008000), up, down)
	for i := range 4 {
		k, x := K(), ZMM()
		KMOVD(z.from(2+4*i), k)
		VPBLENDMW(up, down, k, x)
		VMOVDQU64(x, z.to(32*i))
	}
}

func zq2(z *zkernel) {
	t := z.zfew(0, -1, 0, 1, 2)
	for i := range 2 {
		x := ZMM()
		VPBROADCASTQ(z.from(2+8*i), x)
		z.lookup(32*i, z.picked(x, func(e int) int { return e / 4 }, func(e int) int { return e % 4 * 2 }), t)
	}
}

// trits is the base-3 digits of 32 codes: bytes are fractions of 3^5 in 256ths,
// and the n-th digit is how often 256 goes into three times 3^n times the byte.
func (z *zkernel) trits(c zcodes, n func(e int) int) (out zcodes) {
	power := func(e int) int { return [5]int{1, 3, 9, 27, 81}[n(e)] << 8 }
	for i, x := range c {
		y := ZMM()
		if z.float32() {
			VPMULLW(dwords64(func(j int) int { return power(16*i + j) }), x, y)
			VPMULHUW(dwords64(func(int) int { return 3 }), y, y)
		} else {
			VPMULLW(words64(power), x, y)
			VPMULHUW(words64(func(int) int { return 3 }), y, y)
		}
		out = append(out, y)
	}
	return out
}

func ztq1(z *zkernel) {
	t := z.zfew(52, -1, 0, 1, 2)
	c := z.codes(z.from(0))
	for n := range 5 {
		z.lookup(32*n, z.trits(c, func(int) int { return n }), t)
	}
	// Sixteen bytes of five digits, and four of four behind them.
	rest := ZMM()
	VBROADCASTI64X4(z.from(22), rest)
	none := func(int) int { return 0 }
	c = z.picked(rest, func(e int) int { return 10 + e%16 }, none)
	z.lookup(160, z.trits(c, func(e int) int { return e / 16 }), t)
	z.lookup(192, z.trits(c, func(e int) int { return 2 + e/16 }), t)
	c = z.picked(rest, func(e int) int {
		if e < 16 {
			return 10 + e
		}
		return 26 + e%4
	}, none)
	z.lookup(224, z.trits(c, func(e int) int {
		if e < 16 {
			return 4
		}
		return e / 4 % 4
	}), t)
}
