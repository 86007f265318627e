package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A float8 is a format of eight bits: sign, exponent, man bits of mantissa.
// Scales with a biased exponent from least to most give products that are all
// normal.
type float8 struct {
	name        string
	man         int
	bias        int
	least, most uint32
	nan         func(k *runs, codes, mag VecVirtual) VecVirtual // FF where a code is NaN
	infinite    bool
}

func topCode(_ *runs, _, mag VecVirtual) VecVirtual { return equal(mag, 0x7F) }

func minusZero(_ *runs, codes, _ VecVirtual) VecVirtual { return equal(codes, 0x80) }

func aboveInfinity(_ *runs, _, mag VecVirtual) VecVirtual {
	m := YMM()
	VPCMPGTB(bytes32(0x7C), mag, m)
	return m
}

func equal(y VecVirtual, v byte) VecVirtual {
	m := YMM()
	VPCMPEQB(bytes32(v), y, m)
	return m
}

// The least product of a number that is not zero is 2^(1-bias-man) times the
// scale; the largest is below 2^16 or 2^9 times the scale.
var float8s = []float8{
	{"E4M3", 3, 7, 127 - 117, 127 + 118, topCode, false},
	{"E5M2", 2, 15, 127 - 110, 127 + 111, aboveInfinity, true},
	{"E4M3FNUZ", 3, 8, 127 - 116, 127 + 118, minusZero, false},
	{"E5M2FNUZ", 2, 16, 127 - 109, 127 + 111, minusZero, false},
}

func float8Kernels() {
	for _, f := range float8s {
		for t := range targets {
			f.kernel(t)
		}
	}
}

// kernel: to BF16, what a product rounds to depends on the mantissa alone, so the
// products of the first codes, with exponents 0 and 1, are rounded once per run;
// of the others the exponent is added. Two kinds of scales have loops of their
// own: those whose products may be subnormal, and, to BF16, those whose products
// overflow or are all of one kind: zero, infinite and NaN.
func (f float8) kernel(t int) {
	doc := "decodes n runs of chunks of 32 codes."
	if targets[t].wide {
		f.wideKernel(t, doc)
		return
	}
	var l looked
	var infinity VecVirtual
	runKernel("float8"+f.name, "", doc, t, false, 32, 32, nil,
		func(k *runs) {
			k.begin(false) // leaves registers to the loops
			scale := YMM()
			VBROADCASTSS(Mem{Base: k.a}, scale)
			bits := GP32()
			MOVL(Mem{Base: k.a}, bits)
			if f.infinite {
				top, x := GP32(), XMM()
				MOVL(bits, top)
				SHRL(Imm(24), top)
				ORL(Imm(0x7F), top)
				infinity = YMM()
				VMOVD(top, x)
				VPBROADCASTB(x, infinity)
			}
			and32(bits, 0x7FFFFFFF)
			SUBL(U32(f.least<<23), bits)
			CMPL(bits, U32((f.most-f.least)<<23))
			JHI(LabelRef("odd"))
			l = k.table16(f.first(k.kernel), false, func(x VecVirtual) { VMULPS(scale, x, x) })
		},
		func(k *runs) {
			k.rare = func() { f.rare(k) }
			f.byMantissa(k, l, infinity)
		})
}

// rare is the loops of those scales.
func (f float8) rare(k *runs) {
	Label("odd")
	edge := f.newEdge(k)
	Label("edge")
	edge.write(k)
	k.again("edge")
	JMP(LabelRef("done"))
	Label("small")
	CMPQ(k.chunks, Imm(1))
	JEQ(LabelRef("little"))
	f.smallRuns(k)
	f.direct(k)
}

// direct is the loop of a [direct].
func (f float8) direct(k *runs) {
	Label("little")
	d := f.newDirect(k)
	Label("slowly")
	d.write(k)
	k.again("slowly")
	JMP(LabelRef("done"))
}

// wideKernel: codes become float16, which has room for these formats: the
// exponents differ by a power of two. But the largest exponent of E5M2FNUZ is
// float16's infinity, so that its bits go to float32.
func (f float8) wideKernel(t int, doc string) {
	write := f.each
	if f.bias == raisedBias {
		write = f.eachRaised
	}
	var scale VecVirtual
	runKernel("float8"+f.name, "", doc, t, false, 32, 32,
		func(k *runs) {
			if !k.narrow {
				k.minus = load(k.minus.(Mem))
			}
		},
		func(k *runs) {
			scale = YMM()
			VBROADCASTSS(Mem{Base: k.a}, scale)
			if f.bias == raisedBias {
				turned(scale)
			}
			k.ifLittle(ops[0], U32(f.least<<23-1))
			k.rare = func() {
				if k.narrow {
					Label("little")
					k.flushed(scale)
					JMP(LabelRef("chunk"))
					return
				}
				f.direct(k)
			}
		},
		func(k *runs) { write(k, scale) })
}

// first is what the codes below 16 stand for.
func (f float8) first(k *kernel) values {
	var v [16]float32
	for i := range v {
		v[i] = f.number(i)
	}
	return k.constants(v, false)
}

// number is what a code that is neither negative nor NaN stands for.
func (f float8) number(code int) float32 {
	m, e := code%(1<<f.man), code>>f.man
	if e > 0 {
		m += 1 << f.man
	}
	return float32(m) * pow2(max(e, 1)-f.bias-f.man)
}

func pow2(e int) float32 {
	v := float32(1)
	for ; e > 0; e-- {
		v *= 2
	}
	for ; e < 0; e++ {
		v /= 2
	}
	return v
}

// byMantissa writes 32 elements by the table.
func (f float8) byMantissa(k *runs, l looked, infinity VecVirtual) {
	step := byte(1) << f.man
	codes, mag, index, low := YMM(), YMM(), YMM(), YMM()
	k.spreadQuads(k.from(0), codes)
	VPAND(bytes32(0x7F), codes, mag)
	VPMINUB(bytes32(step), mag, index)
	VPAND(bytes32(step), index, index)
	VPAND(bytes32(step-1), codes, low)
	VPOR(low, index, index)
	exp := YMM()
	VPSUBUSB(bytes32(step), mag, exp)
	VPAND(bytes32(0x80-step), exp, exp)
	lo, hi := YMM(), YMM()
	VPSHUFB(index, l[0], lo)
	VPSHUFB(index, l[1], hi)
	if f.infinite {
		top := YMM()
		VPCMPGTB(bytes32(0x7B), mag, top)
		VPBLENDVB(top, bytes32(0x80), lo, lo)
		VPBLENDVB(top, infinity, hi, hi)
		VPANDN(exp, top, exp)
	}
	sign := YMM()
	VPAND(bytes32(0x80), codes, sign)
	VPXOR(sign, hi, hi)
	nan := f.nan(k, codes, mag)
	VPBLENDVB(nan, bytes32(0xC0), lo, lo)
	VPBLENDVB(nan, bytes32(0x7F), hi, hi)
	VPANDN(exp, nan, exp)
	for i := range 2 {
		w, e := YMM(), YMM()
		zero := YMM()
		VPXOR(zero, zero, zero)
		if i == 0 {
			VPUNPCKLBW(hi, lo, w)
			VPUNPCKLBW(zero, exp, e)
		} else {
			VPUNPCKHBW(hi, lo, w)
			VPUNPCKHBW(zero, exp, e)
		}
		VPSLLW(Imm(uint64(7-f.man)), e, e)
		VPADDW(e, w, w)
		VMOVDQU(w, k.to(16*i))
	}
}

// each writes 32 elements.
func (f float8) each(k *runs, scale VecVirtual) {
	for at := 0; at < 32; at += 16 {
		x := [2]VecVirtual{YMM(), YMM()}
		f.half(k, at, x)
		for i, y := range x {
			if up := pow2(15 - f.bias); up != 1 {
				VMULPS(floats(up), y, y)
			}
			f.scaled(k, y, scale)
			k.store8(y, at+8*i)
		}
	}
}

// scaled multiplies x.
func (f float8) scaled(k *runs, x, scale VecVirtual) {
	VMULPS(scale, x, x)
	k.settle(x, f.bias == raisedBias)
}

// signedNaN is of the formats whose NaN is minus zero.
func (f float8) signedNaN() bool { return f.bias == 8 || f.bias == raisedBias }

// raisedBias is that of E5M2FNUZ.
const raisedBias = 16

// eachRaised is each without float16, for a format that has no infinity, and
// under a scale that is turned.
func (f float8) eachRaised(k *runs, scale VecVirtual) {
	codes, mag := YMM(), YMM()
	VMOVDQU(k.from(0), codes)
	VPAND(bytes32(0x7F), codes, mag)
	f.raised(mag)
	VMOVDQU(mag, k.spill)
	for at := 0; at < 32; at += 8 {
		x, sign, nan := YMM(), YMM(), YMM()
		VPMOVZXBD(k.spill.Offset(at), x)
		VPMOVSXBD(k.from(at), sign)
		VPSLLD(Imm(uint64(23-f.man)), x, x)
		VPCMPEQD(dwords(0xFFFFFF80), sign, nan) // minus zero
		VPAND(dwords(0xFFC00000), nan, nan)
		VPAND(k.minus, sign, sign)
		VPOR(nan, sign, sign)
		VMULPS(floats(pow2(127-f.bias-f.man)), x, x)
		VPOR(sign, x, x)
		f.scaled(k, x, scale)
		k.store8(x, at)
	}
}

// raised gives codes of subnormal numbers a leading one, as if there were more
// exponents: magnitudes then are numbers of one form, and none a subnormal
// operand, which stalls as subnormal products do.
func (f float8) raised(mag VecVirtual) {
	table, more := make([]byte, 16), byte(24)
	copy(table, []byte{0, 8, 16, 20, 24, 26, 28, 30})
	if f.man == 2 {
		more = 8
		copy(table, []byte{0, 4, 8, 10})
	}
	t, normal := load(bytes32(table...)), YMM()
	VPSHUFB(mag, t, t)
	VPCMPGTB(bytes32(1<<f.man-1), mag, normal)
	VPADDB(bytes32(more), mag, mag)
	VPBLENDVB(normal, mag, t, mag)
}

// half reads sixteen codes as float16.
func (f float8) half(k *runs, at int, x [2]VecVirtual) {
	w := YMM()
	VPMOVSXBW(k.from(at), w)
	nan := YMM()
	switch f.name {
	case "E5M2":
		VPSLLW(Imm(8), w, w)
	case "E4M3":
		mag := YMM()
		VPAND(words(0x7F), w, mag)
		VPCMPEQW(words(0x7F), mag, nan)
		VPSLLW(Imm(7), w, w)
		VPAND(words(0xBF80), w, w)
		VPOR(nan, w, w)
	case "E4M3FNUZ":
		VPCMPEQW(words(0xFF80), w, nan)
		VPSLLW(Imm(7), w, w)
		VPAND(words(0xBF80), w, w)
		VPOR(nan, w, w)
	default:
		panic(fmt.Sprint("no float16 for ", f.name))
	}
	VCVTPH2PS(w.AsX(), x[0])
	VEXTRACTI128(Imm(1), w, w.AsX())
	VCVTPH2PS(w.AsX(), x[1])
}
