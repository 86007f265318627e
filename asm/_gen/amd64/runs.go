package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A runs kernel takes n runs of codes, each of some chunks, under one scale and
// perhaps a second number each.
type runs struct {
	*kernel
	a, b      Register
	chunks, n Register
	in, elems int    // bytes and elements of a chunk
	rare      func() // loops that few runs take, behind all others
}

// An op is what joins a code with its scale and its second number; as in the
// package.
type op struct {
	name   string
	turned bool
}

var ops = []op{{"Scale", true}, {"Shift", true}, {"Affine", false}}

// runKernel writes the loops: scale once per run, chunk for each chunk.
func runKernel(name, params, doc string, t int, turned bool, in, elems int, before func(*runs), run func(*runs), chunk func(*runs)) {
	target := targets[t]
	name += target.name + "AVX2"
	function(name, "func(dst *byte, src *byte, a *float32, b *float32"+params+", chunks int, n int)", doc)
	k := &runs{kernel: &kernel{wide: target.wide, narrow: target.narrow, shared: map[string]VecVirtual{}}, in: in, elems: elems}
	k.dst, k.src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	k.a, k.b = Load(Param("a"), GP64()), Load(Param("b"), GP64())
	k.begin(turned)
	if before != nil {
		before(k)
	}
	k.chunks = GP64()
	k.n = Load(Param("n"), GP64())
	Label("run")
	Load(Param("chunks"), k.chunks)
	run(k)
	Label("chunk")
	chunk(k)
	k.again("chunk")
	Label("done")
	ADDQ(Imm(4), k.a)
	ADDQ(Imm(4), k.b)
	DECQ(k.n)
	JNZ(LabelRef("run"))
	Label("end")
	end()
	if k.rare != nil {
		k.rare()
	}
}

// again ends a loop over the chunks of a run.
func (k *runs) again(label string) {
	ADDQ(U32(k.in), k.src)
	k.prefetch(k.elems)
	ADDQ(U32(k.elems*k.width()), k.dst)
	DECQ(k.chunks)
	JNZ(LabelRef(label))
}

// numbersOf brings the two numbers of a run into registers, the first negated
// where products are turned.
func (k *runs) numbersOf(o op) pair {
	p := pair{YMM(), YMM()}
	k.numbersInto(o, p)
	return p
}

func (k *runs) numbersInto(o op, p pair) {
	VBROADCASTSS(Mem{Base: k.a}, p.d)
	if o.turned {
		turned(p.d)
	} else {
		quieted(p.d)
	}
	k.secondOf(o, p)
}

// littleNumbersInto is numbersInto where the first number is a [little]. A shift then is
// finite.
func (k *runs) littleNumbersInto(o op, p pair) {
	VBROADCASTSS(Mem{Base: k.a}, p.d)
	if o.turned && !k.lifted {
		VXORPS(k.minus, p.d, p.d)
	}
	if o.name == "Shift" {
		VBROADCASTSS(Mem{Base: k.b}, p.m)
	} else {
		k.secondOf(o, p)
	}
}

func (k *runs) secondOf(o op, p pair) {
	if o.name == "Scale" {
		return
	}
	VBROADCASTSS(Mem{Base: k.b}, p.m)
	if o.turned {
		canonical(p.m)
	} else {
		quieted(p.m)
	}
}

func (o op) join(p pair, x VecVirtual) {
	o.by(p, x, func() { VMULPS(p.d, x, x) })
}

func (o op) by(p pair, x VecVirtual, product func()) {
	if o.name == "Shift" {
		VSUBPS(p.m, x, x)
	}
	product()
	if o.name == "Affine" {
		VADDPS(p.m, x, x)
	}
}

// join is [op.join] by [kernel.multiplied].
func (k *runs) join(o op, p pair, x VecVirtual) {
	o.by(p, x, func() { k.multiplied(p.d, x) })
}

// bytesKernels is codes of a byte each.
func bytesKernels() {
	for _, o := range append(ops, twice) {
		for t := range targets {
			bytesKernel(o, t)
		}
	}
}

// twice is Scale and a multiplication by the same number for all.
var twice = op{"Twice", true}

// A byteLoops is the loops of one of these kernels. Codes are turned into signed ones
// by a mask, and a bias makes them again what they were; but where there is a bias,
// bytes are not signed, and loops of their own need neither. To F32 signed bytes have a
// loop without the mask too, where the numbers take longest.
type byteLoops struct {
	*runs
	o, first   op // first is what joins before the number for all does
	mask, last VecVirtual
	biased     Register // zero where there is no bias
	p          pair
}

func bytesKernel(o op, t int) {
	b := &byteLoops{o: o, first: o}
	var most Op = U32(littleMost - 1)
	if o == twice {
		b.first = ops[0]
	}
	runKernel("bytes"+o.name, ", flip *byte, last *float32", "decodes n runs of chunks of 32 bytes.", t, o.turned, 32, 32,
		func(k *runs) {
			b.runs = k
			k.minus = load(k.minus.(Mem))
			b.mask = YMM()
			VPBROADCASTB(Mem{Base: Load(Param("flip"), GP64())}, b.mask)
			if k.wide {
				VPMOVSXBD(b.mask.AsX(), b.mask)
			} else {
				VPMOVSXBW(b.mask.AsX(), b.mask)
			}
			last := Mem{Base: Load(Param("last"), GP64())}
			switch o.name {
			case "Scale": // of which products are normal, or zero
				most = U32(wholeMost - 1)
			case "Twice":
				b.last = YMM()
				VBROADCASTSS(last, b.last)
				canonical(b.last)
				most = sane(last)
			}
			if b.hasBias() {
				b.biased = GP32()
				MOVL(last, b.biased)
			}
		},
		func(k *runs) {
			b.p = pair{YMM(), YMM()}
			if o.name == "Shift" {
				b.ifFaint()
			}
			k.ifLittle(o, most)
			k.numbersInto(b.first, b.p)
			Label("plain")
			b.ifBiased("fromZero")
			k.rare = b.rare
		},
		func(*runs) { b.each(b.mask, b.join) })
}

// hasBias says whether codes can have a bias.
func (b *byteLoops) hasBias() bool { return b.first.name != "Scale" }

func (b *byteLoops) ifBiased(label string) {
	if b.hasBias() {
		TESTL(b.biased, b.biased)
		JNZ(LabelRef(label))
	}
}

// each writes 32 elements.
func (b *byteLoops) each(mask VecVirtual, join func(x VecVirtual)) {
	b.bytes(0, b.from(0), mask, b.o.turned, join)
}

func (b *byteLoops) join(x VecVirtual) {
	b.first.join(b.p, x)
	if b.o == twice {
		VMULPS(b.last, x, x)
	}
}

// rare is the loops of biased codes and of scales that are little.
func (b *byteLoops) rare() {
	if b.hasBias() {
		b.fromZero = true
		Label("fromZero")
		b.each(nil, b.join)
		b.again("fromZero")
		JMP(LabelRef("done"))
		b.fromZero = false
	}
	b.little()
	b.lifted = false
	if b.o.name == "Shift" {
		b.faint()
	}
}

func (b *byteLoops) little() {
	Label("little")
	b.lifted = !b.narrow
	b.littleNumbersInto(b.first, b.p)
	switch b.o.name {
	case "Shift":
		Label("shifted")
	case "Affine":
		b.enlarged(b.p)
	}
	if b.narrow {
		if b.o.name != "Affine" {
			b.flushed(b.p.d)
		}
		JMP(LabelRef("plain"))
		return
	}
	var l *lifted
	switch b.o.name {
	case "Affine":
		l = newLifted(b.p.d, load(floats(0.5)))
	case "Twice":
		l = newLifted(b.p.d, YMM())
		shift(b.p.d, liftedShift)
		VMULPS(floats(0.5), b.last, l.half)
	default:
		l = b.newLiftedScale()
	}
	b.loops("slowly", func(x VecVirtual) {
		if b.o == twice {
			l.twice(x, b.last)
		} else {
			l.join(b.o, b.p, x)
		}
	})
}

// newLiftedScale lifts the scale of a run.
func (b *byteLoops) newLiftedScale() *lifted {
	l := newLifted(b.p.d, YMM())
	shift(b.p.d, liftedShift)
	VPSUBD(dwords(1<<23), b.p.d, l.half)
	return l
}

// loops is a loop with the mask and, where there can be a bias or numbers take longest,
// one without.
func (b *byteLoops) loops(label string, join func(x VecVirtual)) {
	b.ifBiased(label + "Plain")
	if !b.hasBias() && b.float32() {
		VPTEST(b.mask, b.mask)
		JZ(LabelRef(label + "Plain"))
	}
	Label(label)
	b.each(b.mask, join)
	b.again(label)
	JMP(LabelRef("done"))
	if b.hasBias() || b.float32() {
		b.fromZero = b.hasBias()
		Label(label + "Plain")
		b.each(nil, join)
		b.again(label + "Plain")
		JMP(LabelRef("done"))
		b.fromZero = false
	}
}
