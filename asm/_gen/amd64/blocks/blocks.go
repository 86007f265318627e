// Package blocks is the block types of GGUF: the loops over blocks that all kinds have,
// the small ones of 32 elements, and the K types.
package blocks

import (
	"slices"
	"strings"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A layout is one block type in registers of 64 bytes. A kernel stops in front of a
// block whose scale is infinite or NaN, and says how many blocks are left: the level
// below decodes it. So nothing in these kernels is NaN.
type layout struct {
	Name         string
	Kinds        []string // entries that it serves, some with what the kernel is told: "Q4_0=&minus8Codebook[0]"
	Says         []string // what is computed, as comments at the top of the text
	Takes        string   // a parameter before the count
	Elems, Bytes int      // of a block
	To           []Target // those that have a kernel
	// Any is that the kernel to F32 can be told to take any scales: if numbers stay float32,
	// what is NaN is all that is wrong then, and whoever rounds them makes that one NaN.
	Any bool
	// Block sets what all blocks have in common, and returns what decodes one.
	Block  func(*Kernel) func()
	Halves int // how many float16 the block has,
	At     int // from which byte on
	// Small is that of blocks that begin with a float16, which is made ready for eight blocks
	// at once. What it returns decodes one block, or two.
	Small func(*Kernel) func(s ...Scales)
}

// What is less than 1.2 times as fast as the level below has no kernel.
var (
	notF32  = []Target{ToBF16, ToF16}
	notBF16 = []Target{ToF32, ToF16}
)

// AVX512 writes the kernels of the layouts.
func AVX512() {
	for _, l := range slices.Concat(small, kquants) {
		for _, t := range l.To {
			l.kernel(t)
		}
	}
}

func (l *layout) kernel(t Target) {
	takes, any := l.Takes, l.Any && t == ToF32
	doc := "decodes up to n blocks, up to the first whose scale is not finite, and returns how many are left."
	if any {
		takes = ", any bool"
		doc += " Told so it takes any scales, and a NaN is any NaN."
	}
	z := Begin(l.Name, t, takes+", n int", " (left int)", doc, l.Says...)
	l.enter(t)
	n, stop := Load(Param("n"), GP64()), NewLabel("stop")
	z.Align()
	if l.Small != nil {
		l.batches(z, n, stop)
	} else {
		decode, odd, finite := l.Block(z), stop, NewLabel("finite")
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

// enter says which entries of the table the kernel serves.
func (l *layout) enter(t Target) {
	name := l.Name + t.Name + "AVX512"
	for _, k := range l.Kinds {
		kernel, kind := name, k
		if is, with, told := strings.Cut(k, "="); told {
			kernel, kind = "told("+name+", "+with+")", is
		} else if l.Any && t == ToF32 {
			kernel = "told(" + name + ", false)"
			Entry("told("+name+", true)", "any[%s]", k)
		}
		Entry(kernel, "blocks[%s][%s]", t.Name, kind)
	}
}

// unlessFinite leaves where a block's scales are not all finite: an exponent has all bits set.
func (l *layout) unlessFinite(z *Kernel, stop Place) {
	r := GP32()
	if l.Halves == 1 {
		MOVWLZX(z.From(l.At), r)
	} else {
		MOVL(z.From(l.At), r)
	}
	NOTL(r)
	for i := range l.Halves {
		TESTL(U32(0x7C00<<(16*i)), r)
		JZ(stop.Ref())
	}
}

// A batch is eight blocks whose float16 are made ready together. A gather brings
// them while the batch before is decoded; a load over several young stores would
// wait.
const batch = 8

// batches is a kernel of small blocks. It stops in front of a batch of which some scale
// is infinite or NaN, and of the last blocks, if they are fewer than a batch.
func (l *layout) batches(z *Kernel, n Register, stop Place) {
	decode := l.Small(z)
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

// gather is the float16 that eight blocks begin with as float32.
func gather(from Mem, places, x VecVirtual) {
	y, each := YMM(), K()
	KXNORB(K0, K0, each)
	VPXOR(y, y, y)
	from.Index, from.Scale = places, 1
	VPGATHERDD(from, each, y)
	VPMOVDW(y, y.AsX())
	VCVTPH2PS(y.AsX(), x.AsY())
}
