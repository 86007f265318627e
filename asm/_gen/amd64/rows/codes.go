package rows

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// choose writes the codes of groups under scales and minimums. It clamps integers, not
// numbers, since the quotients are unbounded.
func (l level) choose(name, sign string, by func(...Op)) {
	emit.Frame(name+l.Level, "func(dst *byte, x *float32, scales *float32, minimums *float32, limits *uint32, steps int, n int)",
		"writes the codes of n groups of 16*steps elements: nearest((x+minimum)"+sign+"scale) between two limits, the least of which is code 0.",
		"For each element: q = (x+minimum)"+sign+"scale;", "code = clamp(the low 23 bits of q+1.5*2^23, low, high) - low;", "dst = code, a byte.")
	dst, x := Load(Param("dst"), GP64()), Load(Param("x"), GP64())
	scales, minimums, bounds := Load(Param("scales"), GP64()), Load(Param("minimums"), GP64()), Load(Param("limits"), GP64())
	steps, n, left := Load(Param("steps"), GP64()), Load(Param("n"), GP64()), GP64()
	low, high := l.broadcast(Mem{Base: bounds}), l.broadcast(Mem{Base: bounds, Disp: 4})
	magic, bits := l.number(3<<22), l.all(1<<23-1)
	emit.Repeat("group", n, func() {
		scale, minimum := l.broadcast(Mem{Base: scales}), l.broadcast(Mem{Base: minimums})
		MOVQ(steps, left)
		emit.Repeat("step", left, func() {
			c := l.load(value{mem: Mem{Base: x}, step: l.Bytes % 64})
			each(VADDPS, minimum, c, c)
			each(by, scale, c, c)
			roundBetween(c, magic, bits, low, high, low)
			if y := c.vector(); l.Wide() {
				VPMOVDB(y, Mem{Base: dst})
			} else {
				VPACKSSDW(c.regs[1], y, y)
				putSixteen(y, dst)
			}
			ADDQ(Imm(16), dst)
			ADDQ(Imm(64), x)
		})
		ADDQ(Imm(4), scales)
		ADDQ(Imm(4), minimums)
	})
	emit.End()
}

// putSixteen writes words, packed from two registers, as bytes.
func putSixteen(words VecVirtual, dst Register) {
	VPERMQ(Imm(0xD8), words, words)
	out := emit.Into(XMM(), VEXTRACTI128, Imm(1), words)
	VPACKUSWB(out, words.AsX(), out)
	VMOVDQU(out, Mem{Base: dst})
}

// roundBetween converts numbers to integers: the low bits of what magic rounds, clamped,
// minus another number.
func roundBetween(c, magic, bits, low, high, less value) {
	each(VADDPS, magic, c, c)
	each(VANDPS, bits, c, c)
	each(VPMAXSD, low, c, c)
	each(VPMINSD, high, c, c)
	each(VPSUBD, less, c, c)
}

// e4m3 encodes numbers that a factor brings into range: they are multiplied by it, or
// divided by it and rounded to a type.
func e4m3() {
	kernel := func(name, says, sign string, bits uint32, scaled func(factor, x VecVirtual)) {
		var factor VecVirtual
		narrow.eachBlock(name, ", factor float32", "writes 32 n numbers "+says+" as E4M3.",
			[]string{"For each number: q = x" + sign + "factor, of magnitude 448 at most;", "code = |q| rounded to three bits of fraction, below 2^-6 to units of 2^-9;", "dst = code with the sign."}, 32, 32, emit.Row,
			func(small) {
				factor = YMM()
				VBROADCASTSS(parameter("factor"), factor)
			},
			func(s small) {
				x := s.numbers(0)
				var signs [4]VecVirtual
				for i, y := range x {
					scaled(factor, y)
					signs[i] = emit.Into(YMM(), VMOVDQA, y)
					e4m3Codes.round(y, bits)
				}
				emit.ToWords([4]VecVirtual(x))
				for _, y := range []VecVirtual{x[0], x[2]} {
					VPSUBW(emit.Words((147-6)<<3), y, y)
				}
				VPACKUSWB(x[2], x[0], x[0])
				emit.ToWords(signs)
				VPACKSSWB(signs[2], signs[0], signs[0])
				VPAND(emit.Bytes32(0x80), signs[0], signs[0])
				VPOR(signs[0], x[0], x[0])
				VMOVDQU(emit.InOrder(x[0]), Mem{Base: s.dst})
			})
	}
	const magnitude = 1<<31 - 1
	kernel("e4m3Times", "times a factor", "*", magnitude, func(factor, x VecVirtual) { VMULPS(factor, x, x) })
	for i, rounded := range []func(VecVirtual){func(VecVirtual) {}, toBfloat, toHalf} {
		kernel("e4m3Over"+emit.Targets[i].Name, "over a factor"+roundedTo[i], "/", [3]uint32{magnitude, magnitude &^ 0xFFFF, magnitude}[i], func(factor, x VecVirtual) {
			VDIVPS(factor, x, x)
			rounded(x)
		})
	}
}

// roundedTo rounds quotients, by target.
var roundedTo = [3]string{"", ", rounded to bfloat16,", ", rounded to float16,"}

// A minifloat is a small float: top is the largest number, as bits, and numbers from least
// on are normal. For numbers of 2^e or more, the last bit of 2^(e+up) is one code. The
// code is what is left of a float32's bits after shift bits are shifted out.
type minifloat struct{ top, least, up, shift uint32 }

var (
	e4m3Codes = minifloat{0x43E00000, 0x3C800000, 20, 20}
	e2m1Codes = minifloat{0x40C00000, 0x3F800000, 22, 22}
)

// round returns the code of each magnitude, of which some bits count. With 2^e the largest
// power of two that is at most the magnitude and at least the least normal number, adding
// 2^(e+up) rounds; its exponent and the bits added give the code.
func (f minifloat) round(x VecVirtual, bits uint32) {
	power, exponent := YMM(), YMM()
	VPAND(emit.Dwords(bits), x, x)
	VPMINSD(emit.Dwords(f.top), x, x)
	VPMAXSD(emit.Dwords(f.least), x, power)
	VPAND(emit.Dwords(0x7F800000), power, power)
	VPADDD(emit.Dwords(f.up<<23), power, power)
	VADDPS(power, x, x)
	VPSRLD(Imm(uint64(f.shift)), power, exponent)
	VPSUBD(power, x, x)
	VPADDD(exponent, x, x)
}

// e2m1 encodes numbers over a factor in the same way, one code per byte. Zeros have no sign.
func e2m1() {
	for i, rounded := range []func(VecVirtual){func(VecVirtual) {}, func(x VecVirtual) {
		toBfloat(x)
		VPAND(emit.Dwords(0xFFFF0000), x, x)
	}, toHalf} {
		var factor VecVirtual
		narrow.eachBlock("e2m1Over"+emit.Targets[i].Name, ", factor float32", "writes 16 n numbers over a factor"+roundedTo[i]+" as E2M1, a byte each.",
			[]string{"For each number: q = x/factor, of magnitude 6 at most;", "code = |q| rounded to one bit of fraction, below 1 to halves;", "dst = code with the sign where q < 0."}, 16, 16, emit.Ahead,
			func(small) {
				factor = YMM()
				VBROADCASTSS(parameter("factor"), factor)
			},
			func(s small) {
				var x, signs [2]VecVirtual
				for i := range x {
					y, zero := emit.Into(YMM(), VMOVUPS, Mem{Base: s.src, Disp: 32 * i}), YMM()
					VDIVPS(factor, y, y)
					rounded(y)
					VXORPS(zero, zero, zero)
					signs[i] = emit.Into(YMM(), VCMPPS, Imm(17), zero, y) // less
					e2m1Codes.round(y, 1<<31-1)
					x[i] = y
				}
				VPACKSSDW(x[1], x[0], x[0])
				VPSUBW(emit.Words((127+22)<<1), x[0], x[0])
				VPACKSSDW(signs[1], signs[0], signs[0])
				VPAND(emit.Words(8), signs[0], signs[0])
				VPOR(signs[0], x[0], x[0])
				putSixteen(x[0], s.dst)
			})
	}
}

// toBfloat rounds to bfloat16, leaving the lower bits undefined.
func toBfloat(x VecVirtual) {
	odd := emit.Into(YMM(), VPSRLD, Imm(16), x)
	VPAND(emit.Dwords(1), odd, odd)
	VPADDD(emit.Dwords(0x7FFF), odd, odd)
	VPADDD(odd, x, x)
}

// toHalf rounds to float16.
func toHalf(x VecVirtual) {
	VCVTPS2PH(Imm(0), x, x.AsX())
	VCVTPH2PS(x.AsX(), x)
}

// What is given to kernels of Q5_0, and of Q4_1 and Q5_1, which differ only in it: the Go type codesRule.
const (
	ruleTop   = 0  // what a scale divides by: half of the codes, or the largest one
	ruleOver  = 4  // 1 over it, negated
	ruleLimit = 8  // the largest code, as four bytes
	ruleAt    = 12 // where the low bits of codes lie in a block
)

// eachCodes writes a kernel of n blocks of 32 numbers with head bytes of scales before the
// codes: the fifth bits, which the low bits overwrite if codes have four.
func eachCodes(name, doc string, how []string, head int, group func(s small, rule Register) []VecVirtual) {
	var rule, at Register
	var limit VecVirtual
	narrow.eachBlock(name, ", rule *uint32", doc, how, 32, 16, 0, func(small) {
		rule = Load(Param("rule"), GP64())
		limit = emit.Into(YMM(), VPBROADCASTD, Mem{Base: rule, Disp: ruleLimit})
		low := emit.Into(GP32(), MOVL, Mem{Base: rule, Disp: ruleAt})
		at = low.As64()
	}, func(s small) {
		codes := lowBytes(group(s, rule))
		VPMINSB(limit, codes, codes)
		high, bits := emit.Into(YMM(), VPSLLW, Imm(3), codes), GP32()
		VPMOVMSKB(high, bits)
		MOVL(bits, Mem{Base: s.dst, Disp: head})
		VPAND(emit.Bytes32(15), codes, codes)
		ADDQ(at, s.dst)
		s.putNibbles(codes, 0)
	})
}

func symmetricCodes() {
	eachCodes("symmetricCodes", "writes n blocks of Q5_0: symmetricCodes.",
		[]string{"For each block: d = the number of largest magnitude/-half, the first of equals;", "code = the integer part of x/d+half+0.5, by its reciprocal;", "dst = d, the fifth bits, nibbles i and i+16 in a byte."}, 2,
		func(s small, rule Register) []VecVirtual {
			x := s.numbers(0)
			d, up := s.largest(x), YMM()
			VBROADCASTSS(Mem{Base: rule, Disp: ruleOver}, up)
			VMULPS(up, d, d)
			s.putHalf(d, 0)
			inverse := reciprocal(d)
			VBROADCASTSS(Mem{Base: rule, Disp: ruleTop}, up)
			VADDPS(emit.Floats(0.5), up, up)
			for _, y := range x {
				VMULPS(inverse, y, y)
				VADDPS(up, y, y)
				VCVTTPS2DQ(y, y)
			}
			return x
		})
}

// affineCodes finds the least number by its index, since of zeros the sign of the first counts.
func affineCodes() {
	eachCodes("affineCodes", "writes n blocks of Q4_1 or Q5_1: affineCodes.",
		[]string{"For each block: low = the least number, the first of equals; d = (the largest-low)/top;", "code = the integer part of (x-low)/d+0.5, by the reciprocal;", "dst = d, low, the fifth bits if there are, nibbles i and i+16 in a byte."}, 4,
		func(s small, rule Register) []VecVirtual {
			x := s.numbers(0)
			least, most, t, top := YMM(), YMM(), YMM(), YMM()
			VMINPS(x[1], x[0], least)
			VMAXPS(x[1], x[0], most)
			for _, y := range x[2:] {
				VMINPS(y, least, least)
				VMAXPS(y, most, most)
			}
			across(least, t, VMINPS)
			across(most, t, VMAXPS)
			low := s.first(x, func(y VecVirtual) Register { return emit.Into(YMM(), VCMPPS, Imm(equal), least, y) })
			s.putHalf(low, 2)
			VSUBPS(low, most, most)
			VXORPS(top, top, top)
			VADDPS(top, most, most) // of zeros +0
			VBROADCASTSS(Mem{Base: rule, Disp: ruleTop}, top)
			VDIVPS(top, most, most)
			s.putHalf(most, 0)
			inverse := reciprocal(most)
			for _, y := range x {
				VSUBPS(low, y, y)
				VMULPS(inverse, y, y)
				VADDPS(emit.Floats(0.5), y, y)
				VCVTTPS2DQ(y, y)
			}
			return x
		})
}

// first returns the first number for which a mask is set, in eight lanes.
func (s small) first(x []VecVirtual, is func(y VecVirtual) Register) VecVirtual {
	all, bits := GP32(), GP32()
	for i, y := range x {
		if same := is(y); s.Wide() {
			KMOVW(same, bits)
		} else {
			VMOVMSKPS(same, bits)
		}
		if i == 0 {
			MOVL(bits, all)
		} else {
			SHLL(Imm(uint64(s.Bytes/4*i)), bits)
			ORL(bits, all)
		}
	}
	TZCNTL(all, all)
	return emit.Into(YMM(), VBROADCASTSS, Mem{Base: s.src, Index: all.As64(), Scale: 4})
}
