package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A runs kernel takes n runs of codes, each of some chunks, under one scale and
// perhaps a zero point or minimum each.
type runs struct {
	*kernel
	a, b      Register
	chunks, n Register
	in, elems int        // bytes and elements of a chunk
	shift     VecVirtual // of codes that are half a byte

	chunk, exact, done, end Place  // the loop over chunks; runs that are not ordinary; behind a run, and behind all
	rare                    func() // loops that few runs take, behind all others
}

// runKernel writes the loops: scale once per run, chunk for each chunk.
// The kernel is an entry of the table, and is told the target's name.
func runKernel(row, name, formula, params, doc string, t int, negated bool, in, elems int, before func(*runs), run func(*runs), chunk func(*runs)) {
	target := Targets[t]
	name += target.Name + "AVX2"
	Entry(name, row, target.Name)
	Frame(name, "func(dst *byte, src *byte, a *float32, b *float32"+params+", chunks int, n int)", doc,
		"For each of n runs, with its scale a[r] and zero point or minimum b[r],", "for each of its chunks: x = "+formula+";", "dst = x, rounded to "+target.Name+".")
	k := &runs{kernel: newKernel(target, false), in: in, elems: elems}
	k.Dst, k.Src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	k.a, k.b = Load(Param("a"), GP64()), Load(Param("b"), GP64())
	k.chunk, k.exact, k.done, k.end = NewLabel("chunk"), NewLabel("exact"), NewLabel("done"), NewLabel("end")
	k.begin(negated)
	if before != nil {
		before(k)
	}
	k.chunks = GP64()
	k.n = Load(Param("n"), GP64())
	Repeat("run", k.n, func() {
		Comment("The numbers of a run, or its table.")
		Load(Param("chunks"), k.chunks)
		run(k)
		k.chunk.Here()
		chunk(k)
		k.again(k.chunk)
		k.done.Here()
		ADDQ(Imm(4), k.a)
		ADDQ(Imm(4), k.b)
	})
	k.end.Here()
	End()
	if k.rare != nil {
		k.rare()
	}
}

// again ends a loop over the chunks of a run.
func (k *runs) again(chunk Place) {
	k.Advance(k.in, k.elems)
	DECQ(k.chunks)
	JNZ(chunk.Ref())
}

// other is another loop over the chunks of a run, for few runs.
func (k *runs) other(chunk Place, body func()) {
	chunk.Here()
	body()
	k.again(chunk)
	JMP(k.done.Ref())
}

// numbersInto brings the two numbers of a run into registers, the first negated
// where products are negated.
func (k *runs) numbersInto(o Join, p pair) {
	VBROADCASTSS(Mem{Base: k.a}, p.d)
	if negates(o) {
		flipSign(p.d)
	} else {
		quieted(p.d)
	}
	k.secondOf(o, p)
}

func (k *runs) secondOf(o Join, p pair) {
	if o == JoinScale {
		return
	}
	VBROADCASTSS(Mem{Base: k.b}, p.m)
	if negates(o) {
		canonical(p.m)
	} else {
		quieted(p.m)
	}
}

// negates says whether products of the join come negated.
func negates(o Join) bool { return o != JoinAffine }

// apply joins codes with the numbers of a run.
func (p pair) apply(o Join, x VecVirtual) {
	if o == JoinShift {
		VSUBPS(p.m, x, x)
	}
	VMULPS(p.d, x, x)
	if o == JoinAffine {
		VADDPS(p.m, x, x)
	}
}

// A byteLoops is the loops of a kernel of codes of a byte each. Codes are made signed ones by a
// mask, and a bias makes them again what they were; but where there is a bias, bytes are
// not signed, and a loop of their own needs neither.
type byteLoops struct {
	*runs
	o, first   Join // first is what joins before the number for all does
	mask, last VecVirtual
	bias       Mem
	biased     Register // zero where there is no bias
	p          pair
	fromZero   Place // the loop of biased codes
}

func bytesKernel(o Join, t int) {
	b := &byteLoops{o: o, first: o}
	if o == JoinTwice {
		b.first = JoinScale
	}
	runKernel("bytes[%s]["+o.Bytes()+"]", "bytes"+string(o), o.Formula("q"), ", flip *byte, last *float32", "decodes n runs of chunks of 32 bytes.", t, negates(o), 32, 32,
		func(k *runs) {
			b.runs = k
			k.minus = Load32(k.minus.(Mem))
			b.mask = Into(YMM(), VPBROADCASTB, Mem{Base: Load(Param("flip"), GP64())})
			if k.Wide {
				VPMOVSXBD(b.mask.AsX(), b.mask)
			} else {
				VPMOVSXBW(b.mask.AsX(), b.mask)
			}
			b.bias = Mem{Base: Load(Param("last"), GP64()).(Register)}
			switch {
			case o == JoinTwice:
				b.last = Into(YMM(), VBROADCASTSS, b.bias)
				canonical(b.last)
			case b.hasBias():
				b.biased = Into(GP32(), MOVL, b.bias)
			}
		},
		func(k *runs) {
			b.p = pair{YMM(), YMM()}
			k.ifHostile(b.first, U32(leastScale-1), k.exact)
			k.numbersInto(b.first, b.p)
			if b.hasBias() {
				b.fromZero = NewLabel("fromZero")
				TESTL(b.biased, b.biased)
				JNZ(b.fromZero.Ref())
			}
			k.rare = b.rare
		},
		func(*runs) {
			b.each(b.mask, func(x VecVirtual) {
				b.p.apply(b.first, x)
				if o == JoinTwice {
					VMULPS(b.last, x, x)
				}
			})
		})
}

// hasBias says whether codes can have a bias.
func (b *byteLoops) hasBias() bool { return b.first != JoinScale }

// each writes 32 elements, of signed codes but where there is no mask.
func (b *byteLoops) each(mask VecVirtual, join func(x VecVirtual)) {
	b.bytes(0, b.From(0), mask, mask != nil, negates(b.o), join)
}

// shifted is the loops of small scales or zero points. A zero point below 2^-46 changes no code but that of zero, whose
// product is made before the loop, and under one from 2^78 on all codes come to that.
func (b *byteLoops) shifted() {
	tiny, same, zero, bias := NewLabel("tiny"), NewLabel("same"), YMM(), YMM()
	high := Into(GP32(), MOVL, Mem{Base: b.b})
	and32(high, 0x7FFFFFFF)
	CMPL(high, U32((127+78)<<23))
	JCC(same.Ref())
	VBROADCASTSS(b.bias, bias)
	ifBelow(Mem{Base: b.b}, U32(leastZero-1), tiny)
	small := b.smallScale()
	small.negate(b.minus)
	VBROADCASTSS(Mem{Base: b.b}, b.p.m)
	b.other(NewLabel("exactChunk"), func() {
		b.each(b.mask, func(x VecVirtual) {
			VADDPS(bias, x, x)
			VSUBPS(b.p.m, x, x)
			small.of(x)
		})
	})
	tiny.Here()
	small = b.smallScale()
	small.unlessSmall(b.runs, leastScale-1)
	small.negate(b.minus)
	ofZero := b.ofZero()
	VPXOR(zero, zero, zero)
	b.other(NewLabel("tinyChunk"), func() {
		b.each(b.mask, func(x VecVirtual) {
			VADDPS(bias, x, x)
			none := Into(YMM(), VPCMPEQD, x, zero)
			small.of(x)
			VBLENDVPS(none, ofZero, x, x)
		})
	})
	same.Here()
	ofZero = b.ofZero()
	b.other(NewLabel("sameChunk"), func() { b.each(b.mask, func(x VecVirtual) { VMOVUPS(ofZero, x) }) })
}

// ofZero is what a code of zero comes to, negated, in memory.
func (b *byteLoops) ofZero() Mem {
	x, scale, y, m := XMM(), XMM(), YMM(), b.Local(32)
	VXORPS(x, x, x)
	VSUBSS(Mem{Base: b.b}, x, x)
	VCVTSS2SD(x, x, x)
	VCVTSS2SD(Mem{Base: b.a}, x, scale)
	VMULSD(scale, x, x)
	VCVTSD2SS(x, x, x)
	VBROADCASTSS(x, y)
	flipSign(y)
	VMOVUPS(y, m)
	return m
}

// rare is the loop of biased codes, and that of runs that are not ordinary.
func (b *byteLoops) rare() {
	if b.hasBias() {
		b.other(b.fromZero, func() { b.each(nil, func(x VecVirtual) { b.p.apply(b.first, x) }) })
	}
	b.exact.Here()
	Comment("A run that is not ordinary.")
	var join func(x VecVirtual)
	switch b.o {
	case JoinScale:
		join = b.smallScale().of
	case JoinTwice: // products of whole numbers are multiples of the least number: only the last ones are rounded
		small, half := b.smallScale(), YMM()
		VMULPS(Floats(0.5), b.last, half)
		join = func(x VecVirtual) {
			VMULPS(small.times, x, x)
			p := Into(YMM(), VMULPS, b.last, x)
			small.round(p, half, x)
		}
	case JoinAffine:
		small, bias := b.smallScale(), Into(YMM(), VBROADCASTSS, b.bias)
		b.secondOf(b.o, b.p)
		join = func(x VecVirtual) {
			VADDPS(bias, x, x)
			small.of(x)
			VADDPS(b.p.m, x, x)
		}
	case JoinShift:
		b.shifted()
		return
	}
	b.other(NewLabel("exactChunk"), func() {
		b.each(b.mask, func(x VecVirtual) {
			join(x)
			if negates(b.o) {
				VXORPS(b.minus, x, x)
			}
		})
	})
}
