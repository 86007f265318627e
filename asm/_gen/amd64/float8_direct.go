package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A direct is a run whose products may be subnormal, to F32, or to BF16 where it is too
// short to repay the tables of a [small]. It is what a [little] is, of magnitudes: signs,
// infinity and NaN are bytes and join last, and with them what the products' bits are more
// is taken off.
type direct struct {
	f           float8
	times, half VecVirtual
	turn        VecVirtual // the sign of what is positive
	order       VecVirtual // [fours], to F32
}

func (f float8) newDirect(k *runs) *direct {
	d := &direct{f: f, times: k.magnitude(), half: YMM(), turn: k.turnOf()}
	shiftMagnitude(d.times, smallShift+127-f.bias-(128>>f.man-1))
	VPSUBD(dwords(1<<23), d.times, d.half)
	VPXOR(bytes32(0x80), d.turn, d.turn)
	if k.wide {
		d.order = fours()
	}
	return d
}

// write writes 32 elements.
func (d *direct) write(k *runs) {
	codes, mag := YMM(), YMM()
	if k.wide {
		VPERMD(k.from(0), d.order, codes)
	} else {
		k.spreadQuads(k.from(0), codes)
	}
	VPAND(bytes32(0x7F), codes, mag)
	high, low, out := d.others(k, codes, mag)
	d.f.raise(mag)
	VPANDN(mag, out, mag)
	zero, x, o := YMM(), [4]VecVirtual{}, [2]VecVirtual{YMM(), YMM()}
	VPXOR(zero, zero, zero)
	for i, join := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW} {
		w, y := YMM(), YMM()
		join(mag, zero, w)
		VPSRLW(Imm(uint64(d.f.man+1)), w, w)
		if k.wide {
			VPUNPCKLWD(w, zero, y)
			VPUNPCKHWD(w, zero, w)
		} else {
			VPSLLD(Imm(16), w, y)
			VPAND(dwords(0xFFFF0000), w, w)
		}
		x[2*i], x[2*i+1] = y, w
	}
	for _, y := range x {
		d.product(y)
		if !k.wide {
			rounded(y)
		}
	}
	VPUNPCKLBW(high, low, o[0])
	VPUNPCKHBW(high, low, o[1])
	for i := range 2 {
		if !k.wide {
			w := pack(x[2*i], x[2*i+1])
			VPADDW(o[i], w, w)
			VMOVDQU(w, k.to(16*i))
			continue
		}
		for j, join := range []func(...Op){VPUNPCKLWD, VPUNPCKHWD} {
			more := YMM()
			join(o[i], zero, more)
			VPADDD(more, x[2*i+j], more)
			VMOVUPS(more, k.to(16*i+8*j))
		}
	}
}

// product is 2^64 times as large.
func (d *direct) product(x VecVirtual) {
	p := YMM()
	VMULPS(d.times, x, p)
	VFMADD213PS(dwords(littleBits), d.half, x)
	VPMAXUD(p, x, x)
}

// others is what is added to the two upper bytes of products, and which of them are
// none but infinity or NaN, of which the magnitude must be zero.
func (d *direct) others(k *runs, codes, mag VecVirtual) (high, low, out VecVirtual) {
	nan := d.f.nan(k, codes, mag)
	high, low, out = YMM(), YMM(), nan
	VPXOR(d.turn, codes, high)
	if d.f.infinite {
		out = YMM()
		VPCMPGTB(bytes32(0x7B), mag, out)
		VPOR(nan, high, high)
	} else {
		VPANDN(high, nan, high)
	}
	VPAND(bytes32(0x80), high, high)
	VPOR(bytes32(0x80-littleBits>>24), high, high)
	if d.f.infinite {
		less := YMM()
		VPAND(bytes32(0x81), out, less)
		VPSUBB(less, high, high)
		VPAND(bytes32(0x80), nan, low)
		VPAVGB(out, low, low)
	} else {
		VPADDB(nan, high, high)
		VPAND(bytes32(0xC0), nan, low)
	}
	return high, low, out
}

// raise makes exponents and mantissas, which a code's are but for a bias, of codes
// without signs, as if there were more exponents: zero stays zero, and no number is
// subnormal. A code of exponent zero comes to 7F at most.
func (f float8) raise(mag VecVirtual) {
	step := 1 << f.man
	table := make([]byte, 16)
	for m := range step {
		code, raised := 0x80-step+m, 0
		if m > 0 {
			top := 0
			for m>>top > 1 {
				top++
			}
			raised = 0x80 - step + (top+1-f.man)*step + m<<(f.man-top)&(step-1)
		}
		table[code%16] = byte(code - raised)
	}
	less := load(bytes32(table...))
	VPADDB(bytes32(byte(0x80-step)), mag, mag)
	VPSHUFB(mag, less, less)
	VPSUBB(less, mag, mag)
}
