package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// A zlayout is one block type in registers of 64 bytes: as layout, with the
// sign that its numbers have before they are stored. Small blocks begin with
// one or two float16, which are made ready for eight blocks at once.
type zlayout struct {
	name   string
	takes  string // a parameter before the count
	elems  int
	bytes  int // 0 where the kernel is told
	sign   sign
	set    func(*zkernel)
	block  func(*zkernel)
	scales zfront
	halves int
	far    bool // never rounded: words are a list's
	plain  bool // faster where rounding takes steps
	small  func(z *zkernel, bytes int, s ...zscales)
}

// A zfront is where the word or dword is that has the exponents of a block's
// scales, each of them in one mask. Where all its bits are set the scale is
// infinite or NaN, and such a block is decoded by a second body of the kernel:
// the first one need not say what NaN comes of it. A float32 may be so small
// that products are subnormal.
type zfront struct {
	at        int
	exponents []uint32
}

var (
	oneHalf   = []uint32{0x7C00}
	twoHalves = []uint32{0x7C00, 0x7C000000}
	oneSingle = []uint32{0x7F800000}
)

func zblockKernels() {
	for _, l := range zlayouts() {
		for _, t := range ztargets() {
			if !l.far || !short && !targets[t].narrow {
				zblockKernel(l, t)
			}
		}
	}
}

func zlayouts() []zlayout {
	return []zlayout{
		{name: "q8", takes: ", size int", elems: 32, sign: minus, set: setSize, halves: 1, small: zq8},
		{name: "q8_K", elems: 256, bytes: 292, sign: minus, scales: zfront{0, oneSingle}, block: zq8K},
		{name: "booked", takes: ", book *int8", elems: 32, bytes: 18, sign: minus, set: setBook, halves: 1, small: zbooked},
		{name: "q4_1", elems: 32, bytes: 20, sign: either, set: setCounted, halves: 2, small: zq4_1},
		{name: "q5_0", elems: 32, bytes: 22, sign: minus, set: setFifths, halves: 1, small: zq5_0},
		{name: "q5_1", elems: 32, bytes: 24, sign: either, set: setFifths, halves: 2, small: zq5_1},
		{name: "q2_K", elems: 256, bytes: 84, sign: either, set: setPair, scales: zfront{80, twoHalves}, block: zq2K},
		{name: "q3_K", elems: 256, bytes: 110, sign: minus, set: setQ3K, scales: zfront{108, oneHalf}, block: zq3K},
		{name: "q4_K", elems: 256, bytes: 144, sign: either, set: setCounted, scales: zfront{0, twoHalves}, block: zq4K},
		{name: "q5_K", elems: 256, bytes: 176, sign: either, set: setQ5K, scales: zfront{0, twoHalves}, block: zq5K},
		{name: "q6_K", elems: 256, bytes: 210, sign: minus, set: setQ6K, scales: zfront{208, oneHalf}, block: zq6K},
		{name: "iq4_XS", elems: 256, bytes: 136, sign: minus, set: setIQ4XS, scales: zfront{0, oneHalf}, block: ziq4XS},
		{name: "mxfp4", takes: ", rows *byte", elems: 32, bytes: 17, sign: same, far: true, set: setFP4(mxfp4At, mxfp4Shift), block: zmxfp4},
		{name: "nvfp4", takes: ", rows *byte", elems: 64, bytes: 36, sign: same, far: true, set: setFP4(nvfp4At, nvfp4Shift), block: znvfp4},
		{name: "tq1_0", elems: 256, bytes: 54, sign: minus, scales: zfront{52, oneHalf}, block: ztq1},
		{name: "tq2_0", elems: 256, bytes: 66, sign: minus, scales: zfront{64, oneHalf}, block: ztq2},
		{name: "q1_0", elems: 128, bytes: 18, sign: minus, plain: true, scales: zfront{0, oneHalf}, block: zq1},
		{name: "q2_0", elems: 64, bytes: 18, sign: minus, scales: zfront{0, oneHalf}, block: zq2},
		{name: "iq1_S", elems: 256, bytes: 50, sign: minus, set: setGrid(grid1S), scales: zfront{0, oneHalf}, block: ziq1S},
		// Four bits in each of four words: the exponent is in the last two.
		{name: "iq1_M", elems: 256, bytes: 56, sign: minus, set: setGrid(grid1M), scales: zfront{52, []uint32{0x7000C000}}, block: ziq1M},
		{name: "iq2_XXS", elems: 256, bytes: 66, sign: minus, set: setGrid(grid2XXS), scales: zfront{0, oneHalf}, block: ziq2XXS},
		{name: "iq2_XS", elems: 256, bytes: 74, sign: minus, set: setGrid(grid2XS), scales: zfront{0, oneHalf}, block: ziq2XS},
		{name: "iq2_S", elems: 256, bytes: 82, sign: minus, set: setGrid(grid2S), scales: zfront{0, oneHalf}, block: ziq2S},
		{name: "iq3_XXS", elems: 256, bytes: 98, sign: minus, set: setGrid(grid3XXS), scales: zfront{0, oneHalf}, block: ziq3XXS},
		{name: "iq3_S", elems: 256, bytes: 110, sign: minus, set: setGrid(grid3S), scales: zfront{0, oneHalf}, block: ziq3S},
	}
}

func zblockKernel(l zlayout, t int) {
	z := zbegin(l.name, t, l.takes+", n int", "decodes n blocks.", l.sign)
	n := Load(Param("n"), GP64())
	z.align()
	if l.set != nil {
		l.set(z)
	}
	if l.small != nil {
		z.batches(l, n)
		return
	}
	next := func() {
		z.advance(l.bytes, l.elems)
		DECQ(n)
		JNZ(LabelRef("block"))
		end()
	}
	Label("block")
	z.unless(l.scales, "odd")
	z.finite(func() { l.block(z) })
	next()
	if l.scales.exponents != nil {
		Label("odd")
		l.block(z)
		next()
	}
	if l.scales.single() && !z.narrow {
		Label("tiny")
		zq8KTiny(z)
		next()
	}
}

// single reports a scale that is a float32.
func (f zfront) single() bool { return f.exponents != nil && f.exponents[0] == oneSingle[0] }

// unless leaves for a label where a block needs the second body.
func (z *zkernel) unless(f zfront, label string) {
	if f.exponents == nil {
		return
	}
	r := GP32()
	if f.exponents[0] < 1<<16 && len(f.exponents) == 1 {
		MOVWLZX(z.from(f.at), r)
	} else {
		MOVL(z.from(f.at), r)
	}
	if f.single() && !z.narrow {
		TESTL(U32(f.exponents[0]), r)
		JZ(LabelRef("tiny"))
	}
	NOTL(r)
	for _, e := range f.exponents {
		TESTL(U32(e), r)
		JZ(LabelRef(label))
	}
}

// finite writes a body of what has no scale that is infinite or NaN: nothing of
// it is NaN. Both bodies have the same local memory.
func (z *zkernel) finite(body func()) {
	s := z.sign
	z.sign = same
	body()
	z.sign, z.used = s, 0
}

// room is local memory of n bytes, at a multiple of 64: what crosses lines of the
// cache takes longer to write and to read again. Both bodies ask for the same, in
// the same order.
func (z *zkernel) room(n int) Mem {
	if z.used == len(z.rooms) {
		z.rooms = append(z.rooms, Mem{Base: z.frame, Disp: AllocLocal((n+63)&^63).Disp - 64})
	}
	z.used++
	return z.rooms[z.used-1]
}

// align gives a kernel its local memory.
func (z *zkernel) align() {
	z.frame = GP64()
	LEAQ(AllocLocal(64).Offset(63), z.frame)
	ANDQ(I8(-64), z.frame)
}
