package rows

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A small is a kernel of blocks whose scale is that of their largest magnitude, under
// construction. It handles 32 numbers in one step.
type small struct {
	level
	dst, src, n Register
}

// narrow is registers of 32 bytes.
var narrow = level{emit.Narrow}

// eachBlock writes a kernel that converts n times elems numbers to bytes, and prefetches
// ahead of them if ahead is not 0.
func (l level) eachBlock(name, params, doc string, how []string, elems, bytes, ahead int, before, block func(s small)) {
	emit.Frame(name+l.Level, "func(dst *byte, src *float32"+params+", n int)", doc, how...)
	s := small{l, Load(Param("dst"), GP64()), Load(Param("src"), GP64()), Load(Param("n"), GP64())}
	before(s)
	emit.Repeat("block", s.n, func() {
		if ahead > 0 {
			emit.Ask(s.src, ahead, 4*elems)
		}
		block(s)
		ADDQ(U32(uint32(4*elems)), s.src)
		ADDQ(Imm(uint64(bytes)), s.dst)
	})
	emit.End()
}

// next returns the block after some bytes of numbers, or this one if it is the last: its
// scale, which has a long latency, is computed before this block's codes.
func (s small) next(bytes int) small {
	src := emit.Into(GP64(), LEAQ, Mem{Base: s.src, Disp: bytes})
	CMPQ(s.n, Imm(1))
	CMOVQEQ(s.src, src)
	return small{s.level, s.dst, src, s.n}
}

// numbers loads 32 numbers of a block.
func (s small) numbers(from int) []VecVirtual {
	x := s.Chunk()
	for i, y := range x {
		VMOVUPS(Mem{Base: s.src, Disp: 4*from + s.Bytes*i}, y)
	}
	return x
}

// magnitude returns the largest magnitude in some registers, in all of eight lanes.
func (l level) magnitude(x ...VecVirtual) VecVirtual {
	m, t := l.One(), l.One()
	VANDPS(l.Same(0x7FFFFFFF), x[0], m)
	for _, y := range x[1:] {
		VANDPS(l.Same(0x7FFFFFFF), y, t)
		VMAXPS(t, m, m)
	}
	if l.Wide() {
		half := emit.Into(YMM(), VEXTRACTF64X4, Imm(1), m)
		VMAXPS(m.AsY(), half, half)
		m, t = half, YMM()
	}
	across(m, t, VMAXPS)
	return m
}

// reciprocal returns 1/d, or 0 for 0.
func reciprocal(d VecVirtual) VecVirtual {
	inverse, some := YMM(), YMM()
	VMOVUPS(emit.Floats(1), inverse)
	VDIVPS(d, inverse, inverse)
	VXORPS(some, some, some)
	VCMPPS(Imm(other), d, some, some)
	VANDPS(some, inverse, inverse)
	return inverse
}

// putHalf writes a number as float16.
func (s small) putHalf(d VecVirtual, at int) {
	h := emit.Into(XMM(), VCVTPS2PH, Imm(0), d.AsX())
	VPEXTRW(Imm(0), h, Mem{Base: s.dst, Disp: at})
}

// lowBytes returns the low byte of each of 32 dwords, in order.
func lowBytes(x []VecVirtual) VecVirtual {
	for _, y := range x {
		VPAND(emit.Dwords(0xFF), y, y)
	}
	return emit.Packed([4]VecVirtual(x), VPACKUSWB)
}

// putNibbles writes 32 codes below 16, two per byte: i and i+16.
func (s small) putNibbles(codes VecVirtual, at int) {
	high := emit.Into(XMM(), VEXTRACTI128, Imm(1), codes)
	VPSLLW(Imm(4), high, high)
	VPOR(high, codes.AsX(), high)
	VMOVDQU(high, Mem{Base: s.dst, Disp: at})
}

// putDwords is putNibbles for two registers of sixteen.
func (s small) putDwords(codes []VecVirtual, at int) {
	VPSLLD(Imm(4), codes[1], codes[1])
	VPORD(codes[1], codes[0], codes[0])
	VPMOVDB(codes[0], Mem{Base: s.dst, Disp: at})
}

// eachScaled is eachBlock for 32 numbers under one scale, a float16 at the beginning. The
// next scale, which has a long latency, is computed before the codes of this block.
func (l level) eachScaled(name, doc string, how []string, bytes int, scale func(s small, x []VecVirtual) VecVirtual, codes func(s small, x []VecVirtual, inverse VecVirtual)) {
	var d, inverse VecVirtual
	scaled := func(s small) (d, inverse VecVirtual) {
		d = scale(s, s.numbers(0))
		return d, reciprocal(d)
	}
	l.eachBlock(name, "", doc, how, 32, bytes, emit.Ahead, func(s small) { d, inverse = scaled(s) }, func(s small) {
		nextD, nextInverse := scaled(s.next(128))
		x := s.numbers(0)
		s.putHalf(d, 0)
		codes(s, x, s.inAll(inverse))
		VMOVAPS(nextD, d)
		VMOVAPS(nextInverse, inverse)
	})
}

// q8_0 adds just less than a half to round: a number midway reaches the next integer, and
// none below does.
func (l level) q8_0() {
	l.eachScaled("encodeQ8_0", "writes n blocks of Q8_0.",
		[]string{"For each block: d = the largest magnitude/127;", "code = x/d by its reciprocal, rounded, ties away from zero;", "dst = d, the codes."}, 34,
		func(_ small, x []VecVirtual) VecVirtual {
			d := l.magnitude(x...)
			VDIVPS(emit.Load32(emit.Floats(127)), d, d)
			return d
		}, func(s small, x []VecVirtual, inverse VecVirtual) {
			for i, y := range x {
				half := l.One()
				VMULPS(inverse, y, y)
				VANDPS(l.Same(1<<31), y, half)
				VORPS(l.number(0.49999997).mem, half, half)
				VADDPS(half, y, y)
				if VCVTTPS2DQ(y, y); l.Wide() {
					VPMOVDB(y, Mem{Base: s.dst, Disp: 2 + 16*i})
				}
			}
			if !l.Wide() {
				VMOVDQU(lowBytes(x), Mem{Base: s.dst, Disp: 2})
			}
		})
}

// inAll copies eight equal numbers to all lanes.
func (l level) inAll(x VecVirtual) VecVirtual {
	if !l.Wide() {
		return x
	}
	return emit.Into(ZMM(), VBROADCASTSS, x.AsX())
}

// largest returns the first number of the largest magnitude, found by its index, and +0 for zeros.
func (s small) largest(x []VecVirtual) VecVirtual {
	m := s.inAll(s.magnitude(x...))
	d, zero := s.first(x, func(y VecVirtual) (same Register) {
		magnitude := emit.Into(s.One(), VANDPS, s.Same(0x7FFFFFFF), y)
		if same = magnitude; s.Wide() {
			same = K()
		}
		VPCMPEQD(m, magnitude, same)
		return same
	}), YMM()
	VXORPS(zero, zero, zero)
	VADDPS(zero, d, d)
	return d
}

func (l level) q4_0() {
	l.eachScaled("encodeQ4_0", "writes n blocks of Q4_0.",
		[]string{"For each block: d = the number of largest magnitude/-8, the first of equals;", "code = the integer part of x/d+8.5, by its reciprocal; 15 at most;", "dst = d, codes i and i+16 in a byte."}, 18,
		func(s small, x []VecVirtual) VecVirtual {
			d := s.largest(x)
			VMULPS(emit.Floats(-0.125), d, d)
			return d
		}, func(s small, x []VecVirtual, inverse VecVirtual) {
			for _, y := range x {
				VMULPS(inverse, y, y)
				VADDPS(l.number(8.5).mem, y, y)
				if VCVTTPS2DQ(y, y); l.Wide() {
					VPMINSD(l.Same(15), y, y)
				}
			}
			if l.Wide() {
				s.putDwords(x, 2)
				return
			}
			codes := lowBytes(x)
			VPMINSB(emit.Bytes32(15), codes, codes)
			VPAND(emit.Bytes32(15), codes, codes)
			s.putNibbles(codes, 2)
		})
}

// fp4 returns the codes of 32 numbers: how many bounds between magnitudes, times the
// scale, are below each. Bounds are half-integers of half the scale, so the quotient
// rounded up determines the code; the products are exact, so no quotient is rounded onto a
// bound that it exceeds. halfs is half of the scale for each register.
func fp4(x []VecVirtual, halfs [4]VecVirtual) VecVirtual {
	var signs [4]VecVirtual
	for i, y := range x {
		signs[i] = emit.Into(YMM(), VMOVDQA, y)
		VANDPS(emit.Dwords(0x7FFFFFFF), y, y)
		VDIVPS(halfs[i], y, y)
		VROUNDPS(Imm(10), y, y) // up
		VMINPS(emit.Floats(31), y, y)
		VCVTTPS2DQ(y, y)
	}
	codes, sign, index, more := emit.Packed([4]VecVirtual(x), VPACKUSWB), emit.Packed(signs, VPACKSSWB), YMM(), YMM()
	VPMINUB(emit.Bytes32(15), codes, index)
	VPCMPGTB(emit.Bytes32(20), codes, more)
	table := emit.Into(YMM(), VMOVDQU, emit.Bytes32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5, 5, 5, 5, 6))
	VPSHUFB(index, table, codes)
	VPSUBB(more, codes, codes)
	VPXOR(more, more, more)
	VPCMPGTB(more, codes, more) // not zero
	VPAND(emit.Bytes32(0x80), sign, sign)
	VPAND(more, sign, sign)
	VPSRLW(Imm(4), sign, sign)
	VPOR(sign, codes, codes)
	return codes
}

// mxfp4 takes a table of the mantissas at which log2f rounds up to the next exponent, and
// of half of each scale.
func mxfp4() {
	var tables Register
	var exponent GPVirtual
	var half VecVirtual
	scale := func(s small) (GPVirtual, VecVirtual) {
		x := s.numbers(0)
		m, bits, e, up, none := s.magnitude(x...), GP32(), GP32(), GP32(), GP32()
		VMOVD(m.AsX(), bits)
		MOVL(bits, e)
		SHRL(Imm(23), e)
		XORL(up, up)
		CMPL(bits, Mem{Base: tables, Index: e.As64(), Scale: 4})
		SETCC(up.As8())
		XORL(none, none)
		ADDL(up, e)
		SUBL(Imm(2), e)
		CMOVLLT(none, e)
		return e, emit.Into(YMM(), VBROADCASTSS, Mem{Base: tables, Index: e.As64(), Scale: 4, Disp: 1024})
	}
	narrow.eachBlock("encodeMXFP4", ", tables *uint32", "writes n blocks of MXFP4: tables is roundsUp, then half of the scale of each exponent.",
		[]string{"For each block: e = the exponent of the largest magnitude, as log2f rounds it, less 2, or 0;", "code = that of E2M1 nearest to x/2^e;", "dst = e, codes i and i+16 in a byte."}, 32, 17, emit.Ahead,
		func(s small) {
			tables = Load(Param("tables"), GP64())
			exponent, half = scale(s)
		}, func(s small) {
			e, next := scale(s.next(128))
			MOVB(exponent.As8(), Mem{Base: s.dst})
			s.putNibbles(fp4(s.numbers(0), [4]VecVirtual{half, half, half, half}), 1)
			MOVL(e, exponent)
			VMOVAPS(next, half)
		})
}

// nvfp4 computes the scales of a block together.
func nvfp4() {
	var code, half VecVirtual
	narrow.eachBlock("encodeNVFP4", "", "writes n blocks of NVFP4.",
		[]string{"For 16 numbers: scale = the largest magnitude/6 in E4M3, halves up;", "code = that of E2M1 nearest to x/scale;", "dst = four scales, codes i and i+8 of each 16 in a byte."}, 64, 36, emit.Ahead,
		func(s small) {
			code = unsignedE4M3(s.magnitudes())
			half = halfE4M3(code)
		}, func(s small) {
			most := s.next(256).magnitudes()
			var nextCode, nextHalf VecVirtual
			VPACKSSDW(code, code, code)
			VPACKUSWB(code, code, code)
			VMOVD(code, Mem{Base: s.dst})
			for part := range 2 {
				var halfs [4]VecVirtual
				for i := range halfs {
					if halfs[i] = YMM(); i%2 == 1 {
						halfs[i] = halfs[i-1]
						VPSRLDQ(Imm(4), half, half)
					} else {
						VBROADCASTSS(half, halfs[i])
					}
				}
				codes, high := fp4(s.numbers(32*part), halfs), YMM()
				VPSRLDQ(Imm(8), codes, high)
				VPSLLW(Imm(4), high, high)
				VPOR(high, codes, codes)
				VPERMQ(Imm(8), codes, codes)
				VMOVDQU(codes.AsX(), Mem{Base: s.dst, Disp: 4 + 16*part})
				if part == 0 { // the steps to a scale wait for each other, so they lie between others
					nextCode = unsignedE4M3(most)
				} else {
					nextHalf = halfE4M3(nextCode)
				}
			}
			VMOVAPS(nextCode, code)
			VMOVAPS(nextHalf, half)
		})
}

// magnitudes returns the largest magnitude of each 16 numbers of a block.
func (s small) magnitudes() VecVirtual {
	var m [4]VecVirtual
	mask, t := emit.Into(YMM(), VMOVUPS, emit.Dwords(0x7FFFFFFF)), YMM()
	for i := range m {
		m[i] = emit.Into(YMM(), VANDPS, Mem{Base: s.src, Disp: 64 * i}, mask)
		VANDPS(Mem{Base: s.src, Disp: 64*i + 32}, mask, t)
		VMAXPS(t, m[i], m[i])
	}
	both := func(a, b VecVirtual, low, high func(...Op)) { // halves of a and of b, the larger of each two
		low(b, a, t)
		high(b, a, a)
		VMAXPS(t, a, a)
	}
	both(m[0], m[1], VUNPCKLPS, VUNPCKHPS)
	both(m[2], m[3], VUNPCKLPS, VUNPCKHPS)
	both(m[0], m[2], VUNPCKLPD, VUNPCKHPD)
	upper := emit.Into(XMM(), VEXTRACTF128, Imm(1), m[0])
	VMAXPS(m[0].AsX(), upper, upper)
	return upper
}

// unsignedE4M3 is toUE4M3 of a sixth of magnitudes: from 2^-6 on, the bits of exponent and
// fraction, below that units of 2^-9.
func unsignedE4M3(m VecVirtual) VecVirtual {
	code, tiny, normal := XMM(), XMM(), XMM()
	VDIVPS(emit.Floats(6), m, m)
	VMULPS(emit.Floats(512), m, tiny)
	VADDPS(emit.Floats(0.5), tiny, tiny)
	VCVTTPS2DQ(tiny, tiny)
	VPMINSD(emit.Dwords(7), tiny, tiny)
	VPADDD(emit.Dwords(1<<19), m, code)
	VPSRLD(Imm(20), code, code)
	VPSUBD(emit.Dwords(960), code, code)
	most := emit.Into(XMM(), VPCMPGTD, emit.Dwords(15<<3-1), code)
	VPBLENDVB(most, emit.Dwords(0x7E), code, code)
	VPCMPGTD(emit.Dwords(121<<23-1), m, normal)
	VPBLENDVB(normal, code, tiny, code)
	return code
}

// halfE4M3 is half of ue4m3Half of codes, and infinite for zero, which makes all codes zero.
func halfE4M3(code VecVirtual) VecVirtual {
	normal, tiny, value := XMM(), XMM(), XMM()
	VPADDD(emit.Dwords(960-2<<3), code, value)
	VPSLLD(Imm(20), value, value)
	VCVTDQ2PS(code, tiny)
	VMULPS(emit.Floats(1.0/2048), tiny, tiny)
	VPCMPGTD(emit.Dwords(7), code, normal)
	VPBLENDVB(normal, value, tiny, value)
	VPXOR(tiny, tiny, tiny)
	VPCMPEQD(tiny, code, tiny)
	VPBLENDVB(tiny, emit.Dwords(0x7F800000), value, value)
	return value
}
