// Package runs is codes of a byte each in runs under a scale, and numbers with a scale of their own.
package runs

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// AVX512 writes kernels in registers of 64 bytes, but to F32 where those of 32 are as fast.
func AVX512() {
	for _, j := range []Join{JoinScale, JoinShift, JoinAffine, JoinTwice} {
		for _, t := range LevelTargets() {
			plain := j == JoinScale || j == JoinTwice
			if !(plain && t == ToF32) && !(HasBF16 && j == JoinTwice) {
				write(j, t)
			}
		}
	}
}

// bytes holds what codes are flipped by, and what makes them numbers. One byte of the
// mask and 80 turn them into unsigned ones, which become numbers as the lowest bytes of
// 2^23; what is taken off makes them again what they were.
type bytes struct {
	*Kernel
	join                   Join
	a, b, chunks           Register
	flip, last, zero, base VecVirtual
	lastAt                 Mem
	places                 [2]VecVirtual
	lowest                 OpmaskVirtual
	d, m, ofZero           VecVirtual // under a scale that is not small: it, the zero point, and what zero comes to
}

// formula is what a code q comes to.
var formula = map[Join]string{
	JoinScale: "q*a", JoinShift: "(q-b)*a", JoinAffine: "q*a + b", JoinTwice: "(q*a)*last",
}

func write(j Join, t Target) {
	k := &bytes{join: j}
	k.Kernel = Begin("bytes"+string(j), t, ", a *float32, b *float32, flip *byte, last *float32, chunks int, n int", "decodes n runs of chunks of 32 bytes.",
		"For each run: are its scale a, and b or last, ordinary?",
		"For each chunk: number = "+formula[j]+", each step rounded to float32;",
		"if not ordinary as numbers of which none is subnormal.")
	k.before()
	n := Load(Param("n"), GP64())
	k.chunks = GP64()
	odd, small, next := NewLabel("odd"), NewLabel("small"), NewLabel("next")
	large, hugeZero := NewLabel("large"), NewLabel("hugeZero")

	Repeat("run", n, func() {
		Comment("The numbers of a run.")
		Load(Param("chunks"), k.chunks)
		k.loop(k.numbers(odd))
		next.Here()
		ADDQ(Imm(4), k.a)
		ADDQ(Imm(4), k.b)
	})
	End()

	odd.Here()
	Comment("A run that is not ordinary.")
	k.InSteps()
	bits := Into(GP32(), MOVL, Mem{Base: k.a})
	ADDL(bits, bits)
	CMPL(bits, U32((127+uint32(OrdinaryScale.Least))<<24))
	JCS(small.Ref())
	join := k.large(large)
	k.loop(func(x [2]VecVirtual) {
		join(x)
		Quieted(x[0])
		Quieted(x[1])
	})
	JMP(next.Ref())
	small.Here()
	Comment("A run under a small scale.")
	k.loop(k.small(hugeZero))
	JMP(next.Ref())
	if j == JoinShift { // all codes come to the same, by way of 2^40, which no code changes
		hugeZero.Here()
		k.inDoubles()
		VMULPS_BCST(Floats(0x1p-40), k.ofZero, k.d)
		VBROADCASTSS(Floats(-0x1p40), k.m)
		JMP(large.Ref())
	}
}

// large takes the numbers of a run whose scale is not small. What zero comes to under a zero
// point that may be subnormal is made in double precision; to all other codes one below
// 2^-46 is as zero. Other numbers come to ready.
func (k *bytes) large(ready Place) func(x [2]VecVirtual) {
	d, m := Single(Mem{Base: k.a}), Single(Mem{Base: k.b})
	join := k.joined(d, m)
	if k.join != JoinShift {
		return join
	}
	mag, felt := ZMM(), K()
	k.ofZero = ZMM()
	k.inDoubles()
	VPANDD_BCST(Dwords(0x7FFFFFFF), m, mag)
	VPCMPUD_BCST(Imm(5), Dwords((127-46)<<23), mag, felt) // not less
	VMOVDQA32_Z(m, felt, m)
	k.d, k.m = d, m
	ready.Here()
	return func(x [2]VecVirtual) {
		none := [2]OpmaskVirtual{K(), K()}
		for i, x := range x {
			VPTESTNMD(x, x, none[i])
		}
		join(x)
		for i, x := range x {
			VMOVAPS(k.ofZero, none[i], x)
		}
	}
}

// inDoubles is what zero comes to, of which double precision rounds no product.
func (k *bytes) inDoubles() {
	z, d := XMM(), XMM()
	VPXOR(z, z, z)
	VSUBSS(Mem{Base: k.b}, z, z)
	VCVTSS2SD(z, z, z)
	VMOVSS(Mem{Base: k.a}, d)
	VCVTSS2SD(d, d, d)
	VMULSD(d, z, z)
	VCVTSD2SS(z, z, z)
	VBROADCASTSS(z, k.ofZero)
}

// small takes the numbers of a run whose scale is small. It leaves for huge under a zero
// point from 2^80 on.
func (k *bytes) small(huge Place) func(x [2]VecVirtual) {
	if k.join == JoinShift {
		bits := Into(GP32(), MOVL, Mem{Base: k.b})
		ADDL(bits, bits)
		CMPL(bits, U32((127+80)<<24))
		JCC(huge.Ref())
	}
	p, m := NewProduct(Single(Mem{Base: k.a})), Single(Mem{Base: k.b})
	first := p.Times
	switch k.join {
	case JoinAffine:
		Quieted(m)
	case JoinTwice: // the first product has few bits, or is a multiple of the least number: it is right, enlarged
		p.By(k.last)
	case JoinShift:
		p.ZeroPoint(m)
	}
	return func(x [2]VecVirtual) {
		for _, x := range x {
			switch k.join {
			case JoinShift:
				VSUBPS(m, x, x)
			case JoinTwice:
				VMULPS(first, x, x)
			}
			p.Of(x)
			if k.join == JoinAffine {
				VADDPS(m, x, x)
			}
		}
	}
}

// loop is one over the chunks of a run.
func (k *bytes) loop(join func(x [2]VecVirtual)) {
	Repeat("chunk", k.chunks, func() {
		x := k.codes()
		join(x)
		k.Put(0, x[0], x[1])
		k.Advance(32, 32)
	})
}

func (k *bytes) before() {
	const origin = 1 << 23
	k.a, k.b = Load(Param("a"), GP64()), Load(Param("b"), GP64())
	k.flip = Into(YMM(), VPBROADCASTB, Mem{Base: Load(Param("flip"), GP64())})
	VPXORD(Bytes32(0x80), k.flip, k.flip)
	k.base, k.zero = Single(Floats(origin)), Single(Floats(origin+128))
	k.lastAt = Mem{Base: Load(Param("last"), GP64())}
	k.last = Single(k.lastAt)
	if k.join == JoinShift || k.join == JoinAffine {
		VSUBPS(k.last, k.zero, k.zero)
	}
	for i := range k.places {
		k.places[i] = Load64(Dwords64(func(j int) int { return 16*i + j }))
	}
	k.lowest = MaskOf(0x1111111111111111)
}

// numbers takes the numbers of a run, and leaves for odd where one is not ordinary. It
// returns what joins codes with them, in place.
func (k *bytes) numbers(odd Place) func(x [2]VecVirtual) {
	OrdinaryScale.Unless(Mem{Base: k.a}, odd)
	d, m := Single(Mem{Base: k.a}), VecVirtual(nil)
	if r, ok := OrdinaryOther[k.join]; ok {
		r.Unless(Mem{Base: k.b}, odd)
		m = Single(Mem{Base: k.b})
	}
	if k.join == JoinTwice {
		Range{Least: -20, Most: 20}.Unless(k.lastAt, odd)
	}
	return k.joined(d, m)
}

// joined joins codes with the scale d and what else there is, each step rounded.
func (k *bytes) joined(d, m VecVirtual) func(x [2]VecVirtual) {
	return func(x [2]VecVirtual) {
		for _, x := range x {
			if k.join == JoinShift {
				VSUBPS(m, x, x)
			}
			VMULPS(d, x, x)
			switch k.join {
			case JoinAffine:
				VADDPS(m, x, x)
			case JoinTwice:
				VMULPS(k.last, x, x)
			}
		}
	}
}

// codes is 32 codes as numbers.
func (k *bytes) codes() (x [2]VecVirtual) {
	codes := Into(YMM(), VPXORD, k.From(0), k.flip)
	for i := range x {
		x[i] = Into(ZMM(), VMOVAPS, k.base)
		VPERMB(codes.AsZ(), k.places[i], k.lowest, x[i])
		VSUBPS(k.zero, x[i], x[i])
	}
	return x
}
