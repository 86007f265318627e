package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zruns kernel takes n runs of codes, each of some chunks, under one scale
// and perhaps a second number each.
type zruns struct {
	*zkernel
	a, b   Register
	chunks Register
}

// A zloop is what a kernel of runs does: before all, once per run, and for each
// chunk of so many bytes that become so many numbers; two chunks together where
// that is set. Other stands behind the loop of chunks: what run may jump to.
type zloop struct {
	in, elems       int
	before          func(*zruns)
	run, chunk, two func(*zruns)
	other           func(*zruns)
}

func zrunsKernel(name string, t int, params, doc string, s sign, l zloop) {
	z := &zruns{zkernel: zbegin(name, t, ", a *float32, b *float32"+params+", chunks int, n int", doc, s)}
	z.a, z.b, z.chunks = Load(Param("a"), GP64()), Load(Param("b"), GP64()), GP64()
	if l.before != nil {
		l.before(z)
	}
	n := Load(Param("n"), GP64())
	Label("run")
	Load(Param("chunks"), z.chunks)
	l.run(z)
	if l.two != nil {
		zpairs(z.zkernel, "", z.chunks, l.in, l.elems, func() { l.two(z) }, func() { l.chunk(z) })
	} else {
		Label("chunk")
		l.chunk(z)
		z.advance(l.in, l.elems)
		DECQ(z.chunks)
		JNZ(LabelRef("chunk"))
	}
	if l.other != nil {
		JMP(LabelRef("next"))
		l.other(z)
		Label("next")
	}
	ADDQ(Imm(4), z.a)
	ADDQ(Imm(4), z.b)
	DECQ(n)
	JNZ(LabelRef("run"))
	end()
}

// zpairs is a loop of two chunks at a time, and the one that may be left. The
// loop's labels begin with its name.
func zpairs(z *zkernel, name string, chunks Register, in, elems int, two, one func()) {
	SUBQ(Imm(2), chunks)
	JCS(LabelRef(name + "Odd"))
	Label(name + "Pair")
	two()
	z.advance(2*in, 2*elems)
	SUBQ(Imm(2), chunks)
	JCC(LabelRef(name + "Pair"))
	Label(name + "Odd")
	ADDQ(Imm(2), chunks)
	JZ(LabelRef(name + "Done"))
	one()
	z.advance(in, elems)
	Label(name + "Done")
}

// advance moves on by so many bytes of codes and so many numbers. Lines
// to write to are asked for ahead: stores wait in order.
func (z *zkernel) advance(in, elems int) {
	for at := 0; at < elems*z.width(); at += 64 {
		PREFETCHT0(Mem{Base: z.dst, Disp: at + 1024})
	}
	if in > 0 {
		ADDQ(U32(in), z.src)
	}
	ADDQ(U32(elems*z.width()), z.dst)
}

// numbersOf brings the two numbers of a run into registers: settled scales, and
// what is joined with products before or after.
func (z *zruns) numbersOf(o op) pair {
	p := pair{d: z.number(Mem{Base: z.a}, o.turned)}
	if o.name == "Shift" || o.name == "Affine" {
		p.m = z.number(Mem{Base: z.b}, false)
	}
	return p
}

// number is the float32 at m in all lanes, of the other sign or not. A NaN is
// canonical where the kernel turns signs, else 7FC00000. Ports of vectors are
// what runs are short of, so it is looked at before.
func (z *zruns) number(m Mem, turn bool) VecVirtual {
	bits := GP32()
	MOVL(m, bits)
	if turn {
		XORL(U32(0x80000000), bits)
	}
	return z.spread(bits)
}

// flushed is the turned scale of a run of small floats to F16: one above zero
// whose products are all less than float16 has becomes one whose products are
// normal.
func (z *zruns) flushed() VecVirtual {
	const most, tiny = (127 - 60) << 23, (127 - 64) << 23
	bits, low, less := GP32(), GP32(), GP32()
	MOVL(Mem{Base: z.a}, bits)
	XORL(U32(0x80000000), bits)
	MOVL(bits, low)
	and32(low, 0x80000000)
	MOVL(bits, less)
	and32(less, 0x7FFFFFFF)
	DECL(less)
	ORL(U32(tiny), low)
	CMPL(less, U32(most-1))
	CMOVLCS(low, bits)
	return z.spread(bits)
}

// spread brings the bits of a number into all lanes.
func (z *zruns) spread(bits GPVirtual) VecVirtual {
	twice, nan, x := GP32(), GP32(), ZMM()
	if z.sign == minus {
		MOVL(U32(0xFFC00000), nan)
	} else {
		MOVL(U32(0x7FC00000), nan)
	}
	LEAL(Mem{Base: bits, Index: bits, Scale: 1}, twice)
	CMPL(twice, U32(0xFF000000))
	CMOVLHI(nan, bits)
	VPBROADCASTD(bits, x)
	return x
}

// ifSpecial leaves where a number of the run has all bits of the mask set: of the
// exponent's, that is where it is infinite or NaN.
func (z *zruns) ifSpecial(o op, mask Op, label string) {
	for i, from := range []Register{z.a, z.b} {
		if i == 1 && o.name == "Scale" {
			return
		}
		r := GP32()
		MOVL(Mem{Base: from}, r)
		NOTL(r)
		TESTL(mask, r)
		JZ(LabelRef(label))
	}
}

// signOf is the sign of what an operation gives.
func signOf(o op) sign {
	if o.turned {
		return minus
	}
	return either
}

// zbytesKernels is codes of a byte each. One byte of the mask and 80 turn them
// into unsigned ones, which become numbers as the lowest bytes of 2^23; what is
// taken off makes them again what they were.
func zbytesKernels() {
	twice := op{"Twice", true}
	all := append(ops, twice)
	if short {
		all = ops
	}
	for _, o := range all {
		for _, t := range ztargets() {
			zbytesKernel(o, t, o == twice)
		}
	}
}

func zbytesKernel(o op, t int, twice bool) {
	const origin = 1 << 23
	var p pair
	var flip, last, zero, base VecVirtual
	var places [2]VecVirtual
	var lowest OpmaskVirtual
	var most Op = U32(wholeMost - 1)
	codes := func(z *zruns) [2]VecVirtual {
		codes, x := YMM(), [2]VecVirtual{ZMM(), ZMM()}
		VPXORD(z.from(0), flip, codes)
		for i, x := range x {
			VMOVAPS(base, x)
			VPERMB(codes.AsZ(), places[i], lowest, x)
			VSUBPS(zero, x, x)
		}
		return x
	}
	chunk := func(join func(x VecVirtual)) func(z *zruns) {
		return func(z *zruns) {
			x := codes(z)
			for _, x := range x {
				join(x)
			}
			z.put(0, x[0], x[1])
		}
	}
	plain := func(x VecVirtual) {
		if !twice {
			o.join(p, x)
			return
		}
		VMULPS(p.d, x, x)
		VMULPS(last, x, x)
	}
	zrunsKernel("bytes"+o.name, t, ", flip *byte, last *float32", "decodes n runs of chunks of 32 bytes.", signOf(o), zloop{in: 32, elems: 32,
		before: func(z *zruns) {
			flip = YMM()
			VPBROADCASTB(Mem{Base: Load(Param("flip"), GP64())}, flip)
			VPXORD(bytes32(0x80), flip, flip)
			base, zero = zsingle(floats(origin)), zsingle(floats(origin+128))
			m := Mem{Base: Load(Param("last"), GP64())}
			last = zsingle(m)
			zcanonical(last)
			switch {
			case twice:
				most = sane(m)
			case o.name == "Shift" || o.name == "Affine":
				most = U32(littleMost - 1)
				VSUBPS(last, zero, zero)
			}
			for i := range places {
				places[i] = zload(dwords64(func(j int) int { return 16*i + j }))
			}
			lowest = mask(0x1111111111111111)
		},
		run: func(z *zruns) {
			z.ifSmall(most)
			if o.name == "Shift" {
				z.ifFaint()
			}
			p = z.numbersOf(o)
			if o.name == "Affine" { // what plain numbers come to is not NaN
				z.ifSpecial(o, U32(0x7F800000), "special")
				z.ifNear()
				z.sign = same
			}
		},
		chunk: chunk(plain),
		other: func(z *zruns) {
			z.sign = signOf(o)
			if o.name == "Affine" {
				Label("special")
				z.slowly("specially", chunk(plain))
				JMP(LabelRef("next"))
				z.near(func() { z.slowly("nearly", chunk(plain)) })
			}
			if o.name == "Shift" {
				z.faint(p, flip, zero, chunk)
			}
			Label("small")
			if o.name == "Shift" {
				z.smallShifted(p, codes)
				return
			}
			z.smallBytes(o, p, last, codes)
		}})
}

// slowly is a loop of chunks of 32 bytes besides that of most runs.
func (z *zruns) slowly(name string, chunk func(z *zruns)) {
	Label(name)
	chunk(z)
	z.advance(32, 32)
	DECQ(z.chunks)
	JNZ(LabelRef(name))
}

// smallBytes is bytes under a scale so small that products or sums may be
// subnormal. To F16 they are zeros, which larger numbers give too.
func (z *zruns) smallBytes(o op, large pair, last VecVirtual, codes func(*zruns) [2]VecVirtual) {
	up := raisedShift
	if z.narrow {
		up = 24
	}
	p := pair{d: zenlargedAt(Mem{Base: z.a}, up)}
	z.sign = same
	switch o.name {
	case "Affine": // beside a number much larger the products do not count
		bits := GP32()
		MOVL(Mem{Base: z.b}, bits)
		and32(bits, 0x7FFFFFFF)
		CMPL(bits, U32((127-60)<<23))
		JCS(LabelRef("enlarged"))
		VPXORD(large.d, large.d, large.d)
		VMOVAPS(z.number(Mem{Base: z.b}, false), large.m)
		CMPL(bits, U32(0x7F800000))
		JCC(LabelRef("special"))
		JMP(LabelRef("chunk"))
		Label("enlarged")
		p.m = zenlargedAt(Mem{Base: z.b}, up)
	case "Twice":
		if z.narrow { // the magnitude of neither factor counts
			one := ZMM()
			VPANDD_BCST(dwords(0x80000000), last, one)
			VPORD_BCST(floats(1), one, one)
			last = one
		}
	}
	var r zraised
	if !z.narrow {
		r = newZraised()
	}
	z.slowly("slowly", func(z *zruns) {
		x := codes(z)
		for _, x := range x {
			VMULPS(p.d, x, x)
			if o.name == "Affine" {
				VADDPS(p.m, x, x)
			}
			switch {
			case o.name == "Twice" && z.narrow:
				VMULPS(last, x, x)
			case o.name == "Twice":
				r.product(last, x)
			case !z.narrow:
				r.raise(x)
			}
		}
		if z.narrow {
			z.put(0, x[0], x[1])
		} else {
			r.put(z.zkernel, 0, x)
		}
	})
}
