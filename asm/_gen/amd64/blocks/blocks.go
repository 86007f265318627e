// Package blocks is the block types of GGUF: the loops over blocks that all kinds have,
// the small ones of 32 elements, and the K types.
package blocks

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/avx2"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A layout is a block type with registers of 64 bytes. A kernel stops before a block whose
// scale is infinite or NaN, and returns how many blocks are left; the level below decodes
// it. So no number in these kernels is NaN.
type layout struct {
	avx2.Layout
	to []Target // the targets with a kernel
	// any says that the kernel to F32 can be told to take any scales: its numbers are right
	// except which NaN they are, and the caller that rounds them makes that canonical.
	any bool
	// block loads what all blocks have in common, and returns a function that decodes one.
	block  func(*Kernel) func()
	halves int // how many float16 the block has,
	at     int // from which byte on
	// small is that of blocks that begin with a float16, which is prepared for eight blocks
	// at once. It returns a function that decodes one block, or two.
	small func(*Kernel) func(s ...Scales)
}

// What is less than 1.2 times as fast as the level below has no kernel.
var notF32 = []Target{ToBF16, ToF16}

// layouts are those of the level. Names and formulas are those of the level below.
var layouts = map[string]layout{
	"q8_0":     {to: notF32, small: q8},
	"codebook": {to: notF32, small: codebook},
	"q5_0":     {to: notF32, small: q5_0},
	"q2_K":     {to: Targets, halves: 2, at: 80, any: true, block: q2K},
	"q3_K":     {to: notF32, halves: 1, at: 108, block: q3K},
	"q4_K":     {to: Targets, halves: 2, at: 0, any: true, block: q4K},
	"q5_K":     {to: []Target{ToF32, ToF16}, halves: 2, at: 0, any: true, block: q5K},
	"q6_K":     {to: notF32, halves: 1, at: 208, block: q6K},
	"iq4_XS":   {to: Targets, halves: 1, at: 0, any: true, block: iq4XS},
}

// AVX512 writes the kernels of the layouts.
func AVX512() {
	for _, below := range avx2.Layouts() {
		l := layouts[below.Name]
		l.Layout = below
		for _, t := range l.to {
			l.kernel(t)
		}
	}
}

func (l *layout) kernel(t Target) {
	takes, any := "", l.any && t == ToF32
	doc := "decodes up to n blocks, up to the first whose scale is not finite, and returns how many are left."
	if any {
		takes = ", any bool"
		doc += " Told so it takes any scales, and a NaN is any NaN."
	}
	name := l.Name + t.Name + "AVX512"
	l.Serves(name, "told", func(kernel, kind string) {
		if any {
			Entry("told("+name+", true)", "any[%s]", kind)
			kernel = "told(" + name + ", false)"
		}
		Entry(kernel, "blocks[%s][%s]", t.Name, kind)
	})
	l.Begin(t, "AVX512", takes, " (left int)", doc)
	z := New(t)
	n, stop := Load(Param("n"), GP64()), NewLabel("stop")
	z.Align()
	if l.small != nil {
		l.batches(z, n, stop)
	} else {
		decode, odd, finite := l.block(z), stop, NewLabel("finite")
		if any {
			odd = NewLabel("odd")
		}
		Repeat("block", n, func() {
			l.unlessFinite(z, odd)
			finite.Here()
			decode()
			z.Advance(l.Bytes, l.Elems)
		})
		if any {
			JMP(stop.Ref())
			odd.Here()
			all := Load(Param("any"), GP8())
			TESTB(all, all)
			JNZ(finite.Ref())
		}
	}
	stop.Here()
	Store(n, ReturnIndex(0))
	End()
}

// unlessFinite jumps if a block's scales are not all finite: an exponent has all bits set.
func (l *layout) unlessFinite(z *Kernel, stop Place) {
	r := GP32()
	if l.halves == 1 {
		MOVWLZX(z.From(l.at), r)
	} else {
		MOVL(z.From(l.at), r)
	}
	NOTL(r)
	for i := range l.halves {
		TESTL(U32(0x7C00<<(16*i)), r)
		JZ(stop.Ref())
	}
}

// batch is how many blocks have their float16 prepared together. A gather loads them while
// the previous batch is decoded; a load across several recent stores would wait.
const batch = 8

// batches writes a kernel of small blocks. It stops before a batch with an infinite or NaN
// scale, and before the last blocks if they are fewer than a batch.
func (l *layout) batches(z *Kernel, n Register, stop Place) {
	decode := l.small(z)
	CMPQ(n, Imm(batch))
	JLT(stop.Ref())
	places, next, x := YMM(), ZMM(), ZMM()
	var at [batch]uint32 // where its blocks begin
	for i := range at {
		at[i] = uint32(i * l.Bytes)
	}
	VMOVDQU(Dwords(at[:]...), places)
	gather(z.From(0), places, next)

	more, ready := NewLabel("batch"), NewLabel("ready")
	more.Here()
	Comment("The scales of the next batch.")
	VMOVAPS(next, x)
	CMPQ(n, Imm(2*batch))
	JLT(ready.Ref())
	gather(z.From(batch*l.Bytes), places, next)
	ready.Here()
	odd := Into(K(), VFPCLASSPSY, Imm(NotFinite), x.AsY())
	KORTESTW(odd, odd)
	JNZ(stop.Ref())
	s := Keep(z, x)
	of := func(i int) Scales { return Scales{At: s.At.Offset(4 * i)} }
	Comment("Two blocks at a time.")
	for i := 0; i < batch; i += 2 {
		decode(of(i), of(i+1))
		z.Advance(2*l.Bytes, 2*l.Elems)
	}
	SUBQ(Imm(batch), n)
	CMPQ(n, Imm(batch))
	JGE(more.Ref())
}

// gather loads the float16 that eight blocks begin with, as float32.
func gather(from Mem, places, x VecVirtual) {
	y, each := YMM(), K()
	KXNORB(K0, K0, each)
	VPXOR(y, y, y)
	from.Index, from.Scale = places, 1
	VPGATHERDD(from, each, y)
	VPMOVDW(y, y.AsX())
	VCVTPH2PS(y.AsX(), x.AsY())
}

// The blocks of 32 elements: bytes, nibbles, and nibbles with fifth bits.

func q8(z *Kernel) func(s ...Scales) {
	return func(s ...Scales) {
		for i, s := range s {
			codes := z.From(34*i + 2)
			a, b := Signed(codes), Signed(codes.Offset(16))
			ToFloats(a, b)
			z.Put(32*i, s.By(a, 0), s.By(b, 0))
		}
	}
}

func codebook(z *Kernel) func(s ...Scales) {
	codebook := Signed(Mem{Base: Load(Param("codebook"), GP64())})
	ToFloats(codebook)
	z.SetIndex()
	return func(s ...Scales) { // two blocks share a register of what their codes come to
		z.Couple(0, 32, z.NibblesOf(2), z.NibblesOf(18+2), s[0].By(codebook, 0), s[1].By(codebook, 0))
	}
}

func q5_0(z *Kernel) func(s ...Scales) {
	codes, more := Counted(-16), Counted(0)
	z.SetIndex()
	return func(s ...Scales) {
		for i, s := range s {
			t := z.Table32(s.By(codes, 0), s.By(more, 0))
			c, k := z.NibblesOf(22*i+6), K()
			KMOVD(z.From(22*i+2), k) // fifth bits
			x := z.Index(c[0], 0)
			VPADDW(Words64(func(int) int { return 0x2020 }), x, k, x)
			z.Placed(32*i, x, t)
		}
	}
}
