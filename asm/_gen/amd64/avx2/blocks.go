package avx2

import (
	"fmt"
	"strconv"
	"strings"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A Layout is one block type, or those that a kernel is told apart: how many
// elements and bytes a block has, what must be set before the loop, and what is
// done for each block.
type Layout struct {
	Name  string
	Does  [2]string // what a block holds, and its numbers
	Takes string    // a parameter before the count
	Elems int
	Bytes int
	plain bool // affine: rounding must not change signs
	set   func(*kernel)
	block func(*kernel) // decodes one block,
	loop  func(*kernel) // or does so by a loop over its groups, which moves the destination on
	rows  []blockRow
	stops func(*kernel, Place) // to BF16: leaves unless the block's scales are ordinary
}

// A blockRow is a type that the kernel serves, and what it is told then.
type blockRow struct{ kind, told string }

// Layouts are those of all types that have kernels.
func Layouts() []Layout {
	return []Layout{
		{Name: "q8_0", Does: [2]string{"d float16, 32 signed bytes q", "x = d*q"}, Elems: 32, Bytes: 34, set: holding(toWords), block: q8},
		{Name: "codebook", Does: [2]string{"d float16, 16 bytes of nibbles q: the low ones, then the high ones", "x = d*codebook[q]"}, Takes: ", codebook *int8", rows: []blockRow{{"Q4_0", "&minus8Codebook[0]"}, {"IQ4_NL", "&iq4Codebook[0]"}}, Elems: 32, Bytes: 18, set: keepCodebook, block: codebookBlock},
		{Name: "q4_1", Does: [2]string{"d, m float16, 16 bytes of nibbles q", "x = d*q + m"}, Elems: 32, Bytes: 20, plain: true, set: setNibbles, block: q4_1},
		{Name: "q5_0", Does: [2]string{"d float16, 32 fifth bits h, 16 bytes of nibbles q", "x = d*(q + 16*h - 16)"}, Elems: 32, Bytes: 22, set: setFives, block: q5_0},
		{Name: "q5_1", Does: [2]string{"d, m float16, 32 fifth bits h, 16 bytes of nibbles q", "x = d*(q + 16*h) + m"}, Elems: 32, Bytes: 24, plain: true, set: setFives, block: q5_1, stops: ifHalvesOdd},
		{Name: "q2_K", Does: [2]string{"16 pairs of nibbles s, t; 64 bytes of two bits q; d, m float16", "x = (d*s)*q - m*t for 16 numbers each"}, Elems: 256, Bytes: 84, plain: true, set: setNibbles, loop: q2K, stops: ifSignsOddAt(80)},
		{Name: "q3_K", Does: [2]string{"256 third bits h; 64 bytes of two bits q; 16 scales s of six bits; d float16", "x = d*(s-32) * (q + 4*h - 4) for 16 numbers each"}, Elems: 256, Bytes: 110, loop: q3K},
		{Name: "q4_K", Does: [2]string{"d, m float16; eight pairs s, t of six bits; 128 bytes of nibbles q", "x = (d*s)*q - m*t for 32 numbers each"}, Elems: 256, Bytes: 144, plain: true, set: setNibbles, loop: q45K(false), stops: ifSignsOddAt(0)},
		{Name: "q5_K", Does: [2]string{"d, m float16; eight pairs s, t of six bits; 256 fifth bits h; 128 bytes of nibbles q", "x = (d*s)*(q + 16*h) - m*t for 32 numbers each"}, Elems: 256, Bytes: 176, plain: true, set: setFives, loop: q45K(true), stops: ifSignsOddAt(0)},
		{Name: "q6_K", Does: [2]string{"128 bytes of nibbles q; 64 bytes of two bits h; 16 signed bytes s; d float16", "x = d*s * (q + 16*h - 32) for 16 numbers each"}, Elems: 256, Bytes: 210, set: holding(ofSixes), loop: q6K},
		{Name: "iq4_XS", Does: [2]string{"d float16; eight scales s of six bits; 128 bytes of nibbles q", "x = d*(s-32) * codebook[q] for 32 numbers each"}, Elems: 256, Bytes: 136, set: setNibbles, loop: iq4XS, stops: ifNotFinite},
		{Name: "mxfp4", Does: [2]string{"a scale s of eight bits, 16 bytes of nibbles q", "x = mxfp4Tables[s][q]"}, Elems: 32, Bytes: 17, set: setNibbles, block: mxfp4},
		{Name: "nvfp4", Does: [2]string{"four scales s of eight bits, 32 bytes of nibbles q", "x = nvfp4Tables[s][q] for 16 numbers each"}, Elems: 64, Bytes: 36, set: setNibbles, block: nvfp4},
		{Name: "tq1_0", Does: [2]string{"52 bytes of five or four digits q in base 3; d float16", "x = d*(q-1)"}, Elems: 256, Bytes: 54, block: tq1},
		{Name: "tq2_0", Does: [2]string{"64 bytes of two bits q; d float16", "x = d*(q-1)"}, Elems: 256, Bytes: 66, loop: tq2},
		{Name: "q1_0", Does: [2]string{"d float16, 128 bits q", "x = d if q is set, else -d"}, Elems: 128, Bytes: 18, set: holding(ofBits), block: q1},
		{Name: "q2_0", Does: [2]string{"d float16, 16 bytes of two bits q", "x = d*(q-1)"}, Elems: 64, Bytes: 18, block: q2},
		{Name: "iq1_S", Does: [2]string{"d float16; 32 low bytes of indices i; eight words: high bits, a scale s of three bits, a sign", "x = d*(2s+1) * (iq1Grid[i] +- 1/8), eight numbers for each i"}, Elems: 256, Bytes: 50, loop: iq1S},
		{Name: "iq1_M", Does: [2]string{"32 low bytes of indices i; 16 bytes of high bits and signs; d and 16 scales s in four words", "x = d*(2s+1) * (iq1Grid[i] +- 1/8), eight numbers for each i"}, Elems: 256, Bytes: 56, loop: iq1M},
		{Name: "iq2_XXS", Does: [2]string{"d float16; eight times four indices i, four sets of seven signs, a scale s of four bits", "x = d*(1/2+s)/4 * iq2xxsGrid[i] with the signs"}, Elems: 256, Bytes: 66, set: holding(ofBits), loop: iq2XXS},
		{Name: "iq2_XS", Does: [2]string{"d float16; 32 words: an index i of nine bits, seven signs; 16 scales s of four bits", "x = d*(1/2+s)/4 * iq2xsGrid[i] with the signs"}, Elems: 256, Bytes: 74, set: holding(ofBits), loop: iq2XS},
		{Name: "iq2_S", Does: [2]string{"d float16; 32 low bytes of indices i; 32 sets of signs; high bits; 16 scales s of four bits", "x = d*(1/2+s)/4 * iq2sGrid[i] with the signs"}, Elems: 256, Bytes: 82, set: holding(ofBits), loop: iq2S},
		{Name: "iq3_XXS", Does: [2]string{"d float16; 64 indices i; eight times four sets of seven signs and a scale s of four bits", "x = d*(1/2+s)/2 * iq3xxsGrid[i] with the signs, four numbers for each i"}, Elems: 256, Bytes: 98, set: holding(ofBits), loop: iq3XXS},
		{Name: "iq3_S", Does: [2]string{"d float16; 64 low bytes of indices i; high bits; 32 sets of signs; eight scales s of four bits", "x = d*(2s+1) * iq3sGrid[i] with the signs, four numbers for each i"}, Elems: 256, Bytes: 110, set: holding(ofBits), loop: iq3S},
	}
}

// Serves calls enter with each type that a kernel serves, and the kernel as it is told of that by a
// function of the package.
func (l *Layout) Serves(kernel, by string, enter func(kernel, kind string)) {
	for _, r := range l.rows {
		enter(fmt.Sprintf("%s(%s, %s)", by, kernel, r.told), r.kind)
	}
	if l.rows == nil {
		enter(kernel, strings.ToUpper(l.Name))
	}
}

// Begin is the frame of a kernel of a level.
func (l *Layout) Begin(t Target, level, takes, result, doc string) {
	Frame(l.Name+t.Name+level, "func(dst *byte, src *byte"+l.Takes+takes+", n int)"+result, doc,
		"For each block: "+l.Does[0]+":", l.Does[1]+";", "dst = x, rounded to "+t.Name+".")
}

func blockKernel(l Layout, k *kernel) {
	result, doc := "", "decodes n blocks."
	if k.ordinary {
		result, doc = " (left int)", "decodes n blocks and says how many are left when it stops, in front of scales that are not ordinary."
	}
	l.Serves(l.Name+k.Name+"AVX2", "with", func(kernel, kind string) {
		if !k.ordinary {
			kernel = "takesAll(" + kernel + ")"
		}
		Entry(kernel, "blocks[%s][%s]", k.Name, kind)
	})
	l.Begin(k.Target, "AVX2", "", result, doc)
	k.Dst, k.Src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n := Load(Param("n"), GP64())
	k.Align()
	k.begin(!l.plain)
	if l.set != nil {
		l.set(k)
	}
	done := NewLabel("done")
	Repeat("block", n, func() {
		if k.ordinary {
			l.stops(k, done)
		}
		if l.loop != nil {
			Comment("The scales of a block.")
			l.loop(k)
		} else {
			Comment("A block.")
			l.block(k)
			k.Prefetch(l.Elems)
			ADDQ(U32(l.Elems*k.Width()), k.Dst)
		}
		ADDQ(U32(l.Bytes), k.Src)
	})
	done.Here()
	if k.ordinary {
		Store(n, ReturnIndex(0))
	}
	End()
}

// A group is what a block of 256 elements repeats: 32 or more elements with their scales.
// Groups are a loop over rounds of some groups each. A counter, in units that make all
// strides a multiple of 1, 2, 4 or 8, indexes what lies in memory; the destination moves on.
type groups struct {
	*kernel
	counter Register
	round   int // groups of a round
	unit    int // the counter's step, a round
}

// groupLoop writes n groups of some elements, round of them in one pass of the loop.
func (k *kernel) groupLoop(n, round, unit, elems int, body func(g *groups)) {
	g := &groups{k, GP64(), round, unit}
	XORL(g.counter.(GP).As32(), g.counter.(GP).As32())
	again := NewLabel("groups")
	again.Here()
	Comment("The scales are ready. Groups of the block, " + strconv.Itoa(round) + " in a round.")
	body(g)
	k.Prefetch(round * elems)
	ADDQ(U32(round*elems*k.Width()), k.Dst)
	ADDQ(U32(unit), g.counter)
	CMPQ(g.counter, U32(n/round*unit))
	JNE(again.Ref())
}

// at is the memory of group i of a round, where m is that of the first group of all and
// others follow at a stride.
func (g *groups) at(m Mem, stride, i int) Mem {
	return g.inRound(m.Offset(stride*i), stride*g.round)
}

// inRound is the memory of this round, where m is that of the first and others follow at a
// stride.
func (g *groups) inRound(m Mem, stride int) Mem {
	m.Index, m.Scale = g.counter, uint8(stride/g.unit)
	return m
}

// of is the scale of group i in all lanes, of several for each group the j-th.
func (g *groups) of(s scales, each, i, j int) VecVirtual {
	return Into(YMM(), VBROADCASTSS, g.at(s.at.Offset(4*j), 4*each, i))
}
