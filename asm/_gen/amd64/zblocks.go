package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// A zlayout is one block type in registers of 64 bytes. A kernel stops before a
// block whose scale is infinite or NaN, and says how many blocks are left: the level
// below decodes it. So nothing in these kernels is NaN. Small blocks begin with one
// or two float16, which are made ready for eight blocks at once.
type zlayout struct {
	name   string
	takes  string // a parameter before the count
	elems  int
	bytes  int   // 0 where the kernel is told
	to     []int // the targets that have a kernel, places in [targets]
	bf16   bool  // AVX512_BF16 has one too
	set    func(*zkernel)
	block  func(*zkernel)
	scales zfront
	halves int
	small  func(z *zkernel, bytes int, s ...zscales)
}

// A zfront is where the word or dword is that has the exponents of a block's
// scales, each of them in one mask. Where all its bits are set the scale is
// infinite or NaN.
type zfront struct {
	at        int
	exponents []uint32
}

var (
	oneHalf   = []uint32{0x7C00}
	twoHalves = []uint32{0x7C00, 0x7C000000}

	// What is less than 1.2 times as fast as the level below has no kernel.
	toAll, toShort, onlyHalf = []int{0, 1, 2}, []int{1, 2}, []int{2}
	notBF16                  = []int{0, 2}
)

func zblockKernels() {
	for _, l := range zlayouts() {
		for _, t := range l.to {
			if !short || l.bf16 && t == 1 {
				zblockKernel(l, t)
			}
		}
	}
}

func zlayouts() []zlayout {
	return []zlayout{
		{name: "q8", takes: ", size int", elems: 32, to: toShort, bf16: true, set: setSize, halves: 1, small: zq8},
		{name: "booked", takes: ", book *int8", elems: 32, bytes: 18, to: toAll, set: setBook, halves: 1, small: zbooked},
		{name: "q4_1", elems: 32, bytes: 20, to: toAll, set: setCounted, halves: 2, small: zq4_1},
		{name: "q5_0", elems: 32, bytes: 22, to: toAll, bf16: true, set: setFifths(-16), halves: 1, small: zq5_0},
		{name: "q5_1", elems: 32, bytes: 24, to: toAll, bf16: true, set: setFifths(0), halves: 2, small: zq5_1},
		{name: "q2_K", elems: 256, bytes: 84, to: toAll, set: setPair, scales: zfront{80, twoHalves}, block: zq2K},
		{name: "q3_K", elems: 256, bytes: 110, to: toAll, set: setQ3K, scales: zfront{108, oneHalf}, block: zq3K},
		{name: "q4_K", elems: 256, bytes: 144, to: toAll, set: setCounted, scales: zfront{0, twoHalves}, block: zq4K},
		{name: "q5_K", elems: 256, bytes: 176, to: toAll, bf16: true, set: setQ5K, scales: zfront{0, twoHalves}, block: zq5K},
		{name: "q6_K", elems: 256, bytes: 210, to: toAll, bf16: true, set: setQ6K, scales: zfront{208, oneHalf}, block: zq6K},
		{name: "iq4_XS", elems: 256, bytes: 136, to: toAll, set: setIQ4XS, scales: zfront{0, oneHalf}, block: ziq4XS},
		{name: "mxfp4", takes: ", rows *byte", elems: 32, bytes: 17, to: onlyHalf, set: setFP4(mxfp4At, mxfp4Shift), block: zmxfp4},
		{name: "nvfp4", takes: ", rows *byte", elems: 64, bytes: 36, to: onlyHalf, set: setFP4(nvfp4At, nvfp4Shift), block: znvfp4},
		{name: "tq1_0", elems: 256, bytes: 54, to: toShort, scales: zfront{52, oneHalf}, block: ztq1},
		{name: "q1_0", elems: 128, bytes: 18, to: toShort, scales: zfront{0, oneHalf}, block: zq1},
		{name: "q2_0", elems: 64, bytes: 18, to: toAll, scales: zfront{0, oneHalf}, block: zq2},
		{name: "iq1_S", elems: 256, bytes: 50, to: notBF16, set: setGrid(grid1S), scales: zfront{0, oneHalf}, block: ziq1S},
		// Four bits in each of four words: the exponent is in the last two.
		{name: "iq1_M", elems: 256, bytes: 56, to: toAll, set: setGrid(grid1M), scales: zfront{52, []uint32{0x7000C000}}, block: ziq1M},
		{name: "iq2_XXS", elems: 256, bytes: 66, to: notBF16, set: setGrid(grid2XXS), scales: zfront{0, oneHalf}, block: ziq2XXS},
		{name: "iq2_XS", elems: 256, bytes: 74, to: notBF16, set: setGrid(grid2XS), scales: zfront{0, oneHalf}, block: ziq2XS},
		{name: "iq2_S", elems: 256, bytes: 82, to: notBF16, set: setGrid(grid2S), scales: zfront{0, oneHalf}, block: ziq2S},
		{name: "iq3_XXS", elems: 256, bytes: 98, to: toAll, set: setGrid(grid3XXS), scales: zfront{0, oneHalf}, block: ziq3XXS},
		{name: "iq3_S", elems: 256, bytes: 110, to: notBF16, set: setGrid(grid3S), scales: zfront{0, oneHalf}, block: ziq3S},
	}
}

func zblockKernel(l zlayout, t int) {
	z := zbeginBlocks(l, t)
	n := Load(Param("n"), GP64())
	z.align()
	if l.set != nil {
		l.set(z)
	}
	if l.small != nil {
		z.batches(l, n)
	} else {
		Label("block")
		z.unless(l.scales, "stop")
		l.block(z)
		z.advance(l.bytes, l.elems)
		DECQ(n)
		JNZ(LabelRef("block"))
	}
	Label("stop")
	Store(n, ReturnIndex(0))
	end()
}

// unless leaves for a label where a block's scales are not all finite.
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
	NOTL(r)
	for _, e := range f.exponents {
		TESTL(U32(e), r)
		JZ(LabelRef(label))
	}
}

// room is local memory of n bytes, at a multiple of 64: what crosses lines of the
// cache takes longer to write and to read again.
func (z *zkernel) room(n int) Mem {
	return Mem{Base: z.frame, Disp: AllocLocal((n+63)&^63).Disp - 64}
}

// align gives a kernel its local memory.
func (z *zkernel) align() {
	z.frame = GP64()
	LEAQ(AllocLocal(64).Offset(63), z.frame)
	ANDQ(I8(-64), z.frame)
}
