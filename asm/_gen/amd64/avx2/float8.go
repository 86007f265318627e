package avx2

import (
	"math"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A float8 is a format of eight bits: sign, exponent, man bits of mantissa. Under scales
// with a biased exponent from least to most, all products are normal.
type float8 struct {
	name        string
	man         int
	bias        int
	least, most uint32
	nan         func(codes, mag VecVirtual) VecVirtual // FF where a code is NaN
	infinite    bool
}

// The least product of a number that is not zero is 2^(1-bias-man) times the
// scale; the largest is below 2^16 or 2^9 times the scale.
var float8s = []float8{
	{"E4M3", 3, 7, 127 - 117, 127 + 118, func(_, mag VecVirtual) VecVirtual { return Into(YMM(), VPCMPEQB, Bytes32(0x7F), mag) }, false},
	{"E5M2", 2, 15, 127 - 110, 127 + 111, func(_, mag VecVirtual) VecVirtual { return Into(YMM(), VPCMPGTB, Bytes32(0x7C), mag) }, true},
	{"E4M3FNUZ", 3, 8, 127 - 116, 127 + 118, func(codes, _ VecVirtual) VecVirtual { return Into(YMM(), VPCMPEQB, Bytes32(0x80), codes) }, false},
}

// kernel: to F32 and F16, codes become float16, which has room for these formats, and are
// multiplied: the exponents differ by a power of two. To BF16, what a product rounds to depends
// on the mantissa alone, so the products of the first codes, with exponents 0 and 1, are rounded
// once per run; of the others the exponent is added. That is right where all products are normal
// numbers; all other scales go the exact way.
func (f float8) kernel(t int) {
	var scale, infinity VecVirtual
	var l tables16
	runKernel("float8[%s]["+f.name+"]", "float8"+f.name, JoinScale.Formula("q"), "", "decodes n runs of chunks of 32 codes.", t, false, 32, 32, nil,
		func(k *runs) {
			k.rare = func() { f.exactRun(k) }
			if k.Wide {
				k.ifHostile(JoinScale, U32(f.least<<23-1), k.exact)
				scale = Into(YMM(), VBROADCASTSS, Mem{Base: k.a})
				return
			}
			k.begin(false) // leaves registers to the loops
			scale = Into(YMM(), VBROADCASTSS, Mem{Base: k.a})
			bits := Into(GP32(), MOVL, Mem{Base: k.a})
			if f.infinite {
				top := Into(GP32(), MOVL, bits) // the upper byte of what infinite codes come to has the scale's sign
				SHRL(Imm(24), top)
				ORL(Imm(0x7F), top)
				x := Into(XMM(), VMOVD, top)
				infinity = Into(YMM(), VPBROADCASTB, x)
			}
			and32(bits, 0x7FFFFFFF)
			SUBL(U32(f.least<<23), bits)
			CMPL(bits, U32((f.most-f.least)<<23))
			JHI(k.exact.Ref())
			l = k.table16(f.first(k.kernel), false, func(x VecVirtual) { VMULPS(scale, x, x) })
		},
		func(k *runs) {
			if k.Wide {
				f.each(k, func(x VecVirtual) { VMULPS(scale, x, x) })
			} else {
				f.byMantissa(k, l, infinity)
			}
		})
}

// exactRun writes the loop for scales that are not ordinary: small ones, with a
// [smallProduct], and to BF16 also those whose products may be infinite, NaN or zero.
// Those are rounded without an addition to products that must stay unchanged.
func (f float8) exactRun(k *runs) {
	k.exact.Here()
	Comment("A run that is not ordinary.")
	if !k.Wide && !f.infinite {
		f.exactWords(k)
		return
	}
	s, up := k.smallScale(), pow2(15-f.bias)
	if k.Wide {
		s.mask = Load32(s.mask.(Mem))
	} else {
		s.unlessSmall(k, f.least<<23-1)
	}
	write := func(x VecVirtual) {
		if up != 1 {
			VMULPS(Floats(up), x, x)
		}
		product, none := YMM(), YMM()
		VMULPS(s.times, x, product)
		if f.infinite { // what is infinite or NaN stays what its product is
			VSUBPS(product, product, none)
			VCMPPS(Imm(3), none, none, none)
			quieted(product)
		} else {
			VCMPPS(Imm(3), product, product, none)
		}
		s.round(product, s.half, x)
		if f.infinite {
			VBLENDVPS(none, product, x, x)
		} else {
			VBLENDVPS(none, Dwords(0x7FC00000), x, x)
		}
	}
	k.other(NewLabel("exactChunk"), func() { f.eachHalf(k, write) })
}

// exactWords is exactRun to BF16 for a format without infinity, as two loops. Under a large scale,
// NaN or zero, products are rounded directly. Under a small one, enlarged products are normal
// numbers, which [rounded] takes; the enlargement and NaN are handled in words.
func (f float8) exactWords(k *runs) {
	small := NewLabel("small")
	ifBelow(Mem{Base: k.a}, U32(f.least<<23-1), small)
	scale := Into(YMM(), VBROADCASTSS, Mem{Base: k.a})
	k.other(NewLabel("exactChunk"), func() { f.each(k, func(x VecVirtual) { VMULPS(scale, x, x) }) })
	small.Here()
	s, up := k.smallScale(), Floats(pow2(15-f.bias))
	VMULPS(up, s.times, s.times)
	VMULPS(up, s.half, s.half)
	k.other(NewLabel("smallChunk"), func() {
		for at := 0; at < 32; at += 16 {
			w, nan := f.float16s(k, at)
			x := widenedHalves(w)
			for _, y := range x {
				p := Into(YMM(), VMULPS, s.times, y)
				s.larger(p, s.half, y)
				rounded(y)
				VPSRLD(Imm(16), y, y)
			}
			VPACKUSDW(x[1], x[0], x[0])
			VPERMQ(Imm(quads), x[0], x[0])
			VPAND(Words(0xFFFF^enlargedBit>>16), x[0], x[0])
			VPBLENDVB(nan, Words(0x7FC0), x[0], x[0])
			VMOVDQU(x[0], k.To(at))
		}
	})
}

// first returns the numbers of the codes below 16.
func (f float8) first(k *kernel) values {
	var v [16]float32
	for i := range v {
		v[i] = f.number(i)
	}
	return k.constants(v, false)
}

// number returns the number of a code that is neither negative nor NaN.
func (f float8) number(code int) float32 {
	m, e := code%(1<<f.man), code>>f.man
	if e > 0 {
		m += 1 << f.man
	}
	return float32(m) * pow2(max(e, 1)-f.bias-f.man)
}

func pow2(e int) float32 { return float32(math.Ldexp(1, e)) }

// byMantissa writes 32 elements with the table.
func (f float8) byMantissa(k *runs, l tables16, infinity VecVirtual) {
	step := byte(1) << f.man
	codes, mag, index, low := YMM(), YMM(), YMM(), YMM()
	k.spreadQuads(k.From(0), codes)
	VPAND(Bytes32(0x7F), codes, mag)
	VPMINUB(Bytes32(step), mag, index)
	VPAND(Bytes32(step), index, index)
	VPAND(Bytes32(step-1), codes, low)
	VPOR(low, index, index)
	exp := Into(YMM(), VPSUBUSB, Bytes32(step), mag)
	VPAND(Bytes32(0x80-step), exp, exp)
	lo, hi := k.found(index, l)
	if f.infinite {
		top := Into(YMM(), VPCMPGTB, Bytes32(0x7B), mag)
		VPBLENDVB(top, Bytes32(0x80), lo, lo)
		VPBLENDVB(top, infinity, hi, hi)
		VPANDN(exp, top, exp)
	}
	sign := Into(YMM(), VPAND, Bytes32(0x80), codes)
	VPXOR(sign, hi, hi)
	nan := f.nan(codes, mag)
	VPBLENDVB(nan, Bytes32(0xC0), lo, lo)
	VPBLENDVB(nan, Bytes32(0x7F), hi, hi)
	VPANDN(exp, nan, exp)
	for i, unpack := range unpackBytes {
		w, e, zero := YMM(), YMM(), YMM()
		VPXOR(zero, zero, zero)
		unpack(hi, lo, w)
		unpack(zero, exp, e)
		VPSLLW(Imm(uint64(7-f.man)), e, e)
		VPADDW(e, w, w)
		VMOVDQU(w, k.To(16*i))
	}
}

// each writes 32 elements as what join returns for their numbers.
func (f float8) each(k *runs, join func(x VecVirtual)) {
	f.eachHalf(k, func(x VecVirtual) {
		if up := pow2(15 - f.bias); up != 1 {
			VMULPS(Floats(up), x, x)
		}
		join(x)
		quieted(x)
	})
}

// eachHalf writes 32 elements as what join returns for codes as float16, whose exponents
// have a bias of 15.
func (f float8) eachHalf(k *runs, join func(x VecVirtual)) {
	for at := 0; at < 32; at += 16 {
		w, nan := f.float16s(k, at)
		if nan != nil {
			VPOR(nan, w, w)
		}
		x := widenedHalves(w)
		for _, y := range x {
			join(y)
		}
		k.store(x, at)
	}
}

// float16s reads sixteen codes as float16, and returns which are NaN if that is not NaN as float16.
func (f float8) float16s(k *runs, at int) (w, nan VecVirtual) {
	w = Into(YMM(), VPMOVSXBW, k.From(at))
	if f.infinite {
		VPSLLW(Imm(8), w, w)
		return w, nil
	}
	nan = YMM()
	if f.name == "E4M3" {
		mag := Into(YMM(), VPAND, Words(0x7F), w)
		VPCMPEQW(Words(0x7F), mag, nan)
	} else {
		VPCMPEQW(Words(0xFF80), w, nan)
	}
	VPSLLW(Imm(7), w, w)
	VPAND(Words(0xBF80), w, w)
	return w, nan
}

// widenedHalves converts sixteen float16 to float32.
func widenedHalves(w VecVirtual) [2]VecVirtual {
	x := [2]VecVirtual{YMM(), YMM()}
	VCVTPH2PS(w.AsX(), x[0])
	VEXTRACTI128(Imm(1), w, w.AsX())
	VCVTPH2PS(w.AsX(), x[1])
	return x
}
