package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A zruns kernel takes n runs of codes, each of some chunks, under one scale a
// and perhaps a zero point, minimum or second factor b.
type zruns struct {
	*zkernel
	a, b   Register
	chunks Register
}

// A zjoin is what makes a number of a code q, a scale s, and what else there is.
// Each step rounds to float32.
type zjoin string

const (
	joinScale  zjoin = "Scale"  // q*s
	joinShift  zjoin = "Shift"  // (q-z)*s
	joinAffine zjoin = "Affine" // q*s + z
	joinTwice  zjoin = "Twice"  // (q*s)*c, c being the same for all runs
)

// A zrange is magnitudes that numbers of runs have in models, from the least to
// below the most; zero is one of them. Those of a scale and of its zero point or
// minimum together give numbers that are normal or zero: at least 2^-123, below 2^112.
type zrange struct{ least, most int } // exponents

var (
	ordinaryScale = zrange{-80, 80}
	ordinaryOther = map[zjoin]zrange{joinShift: {-20, 31}, joinAffine: {-100, 100}}
)

// unless leaves for a label where the number at m is out of range.
func (r zrange) unless(m Mem, label string) {
	bits, zero := GP32(), own("zero")
	MOVL(m, bits)
	ADDL(bits, bits) // without its sign
	JZ(LabelRef(zero))
	SUBL(U32(uint32(127+r.least)<<24), bits)
	CMPL(bits, U32(uint32(r.most-r.least)<<24))
	JCC(LabelRef(label))
	Label(zero)
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

// zbytesKernels is codes of a byte each.
func zbytesKernels() {
	for _, j := range []zjoin{joinScale, joinShift, joinAffine, joinTwice} {
		for _, t := range ztargets() {
			if wide := t == 0 && (j == joinScale || j == joinTwice); !wide && !(short && j == joinTwice) {
				zbytesKernel(j, t)
			}
		}
	}
}

// A zbytes kernel holds: what codes are flipped by, and what makes them numbers.
// One byte of the mask and 80 turn them into unsigned ones, which become numbers as
// the lowest bytes of 2^23; what is taken off makes them again what they were.
type zbytes struct {
	zruns
	join                   zjoin
	flip, last, zero, base VecVirtual
	places                 [2]VecVirtual
	lowest                 OpmaskVirtual
}

func zbytesKernel(j zjoin, t int) {
	const origin = 1 << 23
	k := &zbytes{join: j}
	k.zkernel = zbegin("bytes"+string(j), t, ", a *float32, b *float32, flip *byte, last *float32, chunks int, n int", "decodes n runs of chunks of 32 bytes.")
	k.align()
	k.a, k.b, k.chunks = Load(Param("a"), GP64()), Load(Param("b"), GP64()), GP64()
	k.flip = YMM()
	VPBROADCASTB(Mem{Base: Load(Param("flip"), GP64())}, k.flip)
	VPXORD(bytes32(0x80), k.flip, k.flip)
	k.base, k.zero = zsingle(floats(origin)), zsingle(floats(origin+128))
	lastAt := Mem{Base: Load(Param("last"), GP64())}
	k.last = zsingle(lastAt)
	if j == joinShift || j == joinAffine {
		VSUBPS(k.last, k.zero, k.zero)
	}
	for i := range k.places {
		k.places[i] = zload(dwords64(func(j int) int { return 16*i + j }))
	}
	k.lowest = mask(0x1111111111111111)
	n := Load(Param("n"), GP64())
	exact := own("exact")

	Label("run")
	Load(Param("chunks"), k.chunks)
	ordinaryScale.unless(Mem{Base: k.a}, exact)
	d, m := zsingle(Mem{Base: k.a}), VecVirtual(nil)
	if r, ok := ordinaryOther[j]; ok {
		r.unless(Mem{Base: k.b}, exact)
		m = zsingle(Mem{Base: k.b})
	}
	if j == joinTwice {
		zrange{-20, 20}.unless(lastAt, exact)
	}
	Label("chunk")
	x := k.codes()
	for _, x := range x {
		switch j {
		case joinShift:
			VSUBPS(m, x, x)
			VMULPS(d, x, x)
		case joinAffine:
			VMULPS(d, x, x)
			VADDPS(m, x, x)
		case joinTwice:
			VMULPS(d, x, x)
			VMULPS(k.last, x, x)
		default:
			VMULPS(d, x, x)
		}
	}
	k.put(0, x[0], x[1])
	k.advance(32, 32)
	DECQ(k.chunks)
	JNZ(LabelRef("chunk"))
	Label("next")
	ADDQ(Imm(4), k.a)
	ADDQ(Imm(4), k.b)
	DECQ(n)
	JNZ(LabelRef("run"))
	end()

	Label(exact)
	k.inSteps()
	e := newExact(k.zkernel, j, Mem{Base: k.a}, Mem{Base: k.b}, lastAt)
	Label("exactly")
	x = k.codes()
	e.numbers(x)
	k.put(0, x[0], x[1])
	k.advance(32, 32)
	DECQ(k.chunks)
	JNZ(LabelRef("exactly"))
	JMP(LabelRef("next"))
}

// codes is 32 codes as numbers.
func (k *zbytes) codes() (x [2]VecVirtual) {
	codes := YMM()
	VPXORD(k.from(0), k.flip, codes)
	for i := range x {
		x[i] = ZMM()
		VMOVAPS(k.base, x[i])
		VPERMB(codes.AsZ(), k.places[i], k.lowest, x[i])
		VSUBPS(k.zero, x[i], x[i])
	}
	return x
}
