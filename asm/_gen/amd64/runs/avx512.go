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
	a, b                   Register
	flip, last, zero, base VecVirtual
	lastAt                 Mem
	places                 [2]VecVirtual
	lowest                 OpmaskVirtual
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
		"if not ordinary in double precision.")
	k.before()
	n, chunks := Load(Param("n"), GP64()), GP64()
	run, chunk, exact, exactly, next := NewLabel("run"), NewLabel("chunk"), NewLabel("exact"), NewLabel("exactly"), NewLabel("next")

	run.Here()
	Comment("The numbers of a run.")
	Load(Param("chunks"), chunks)
	join := k.numbers(exact)
	chunk.Here()
	x := k.codes()
	join(x)
	k.Put(0, x[0], x[1])
	k.Advance(32, 32)
	DECQ(chunks)
	JNZ(chunk.Ref())
	next.Here()
	ADDQ(Imm(4), k.a)
	ADDQ(Imm(4), k.b)
	DECQ(n)
	JNZ(run.Ref())
	End()

	exact.Here()
	Comment("A run that is not ordinary.")
	k.InSteps()
	e := NewExact(k.Kernel, j, Mem{Base: k.a}, Mem{Base: k.b}, k.lastAt)
	exactly.Here()
	x = k.codes()
	e.Numbers(x)
	k.Put(0, x[0], x[1])
	k.Advance(32, 32)
	DECQ(chunks)
	JNZ(exactly.Ref())
	JMP(next.Ref())
}

func (k *bytes) before() {
	const origin = 1 << 23
	k.Align()
	k.a, k.b = Load(Param("a"), GP64()), Load(Param("b"), GP64())
	k.flip = YMM()
	VPBROADCASTB(Mem{Base: Load(Param("flip"), GP64())}, k.flip)
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

// numbers takes the numbers of a run, and leaves for exact where one is not ordinary. It
// returns what joins codes with them, in place.
func (k *bytes) numbers(exact Place) func(x [2]VecVirtual) {
	OrdinaryScale.Unless(Mem{Base: k.a}, exact)
	d, m := Single(Mem{Base: k.a}), VecVirtual(nil)
	if r, ok := OrdinaryOther[k.join]; ok {
		r.Unless(Mem{Base: k.b}, exact)
		m = Single(Mem{Base: k.b})
	}
	if k.join == JoinTwice {
		Range{Least: -20, Most: 20}.Unless(k.lastAt, exact)
	}
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
	codes := YMM()
	VPXORD(k.From(0), k.flip, codes)
	for i := range x {
		x[i] = ZMM()
		VMOVAPS(k.base, x[i])
		VPERMB(codes.AsZ(), k.places[i], k.lowest, x[i])
		VSUBPS(k.zero, x[i], x[i])
	}
	return x
}
