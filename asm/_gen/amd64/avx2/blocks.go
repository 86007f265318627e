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

// A layout is one block type, or those that a kernel is told apart: how many
// elements and bytes a block has, what must be set before the loop, and what is
// done for each block.
type layout struct {
	name  string
	does  [2]string // what a block holds, and its numbers
	takes string    // a parameter before the count
	elems int
	bytes int
	plain bool // affine: rounding must not change signs
	set   func(*kernel)
	block func(*kernel) // decodes one block,
	loop  func(*kernel) // or does so by a loop over its groups, which moves the destination on
	rows  []blockRow
	stops func(*kernel, Place) // to BF16: leaves unless the block's scales are ordinary
}

// A blockRow is a type that the kernel serves, and what it is told then.
type blockRow struct{ kind, told string }

func blockKernels() {
	for _, l := range layouts() {
		for _, t := range Targets {
			blockKernel(l, newKernel(t, l.stops != nil && !t.Wide))
		}
	}
}

func layouts() []layout {
	return []layout{
		{name: "q8_0", does: [2]string{"d float16, 32 signed bytes q", "x = d*q"}, elems: 32, bytes: 34, set: holding(toWords), block: q8},
		{name: "codebook", does: [2]string{"d float16, 16 bytes of nibbles q: the low ones, then the high ones", "x = d*codebook[q]"}, takes: ", codebook *int8", rows: []blockRow{{"Q4_0", "&minus8Codebook[0]"}, {"IQ4_NL", "&iq4Codebook[0]"}}, elems: 32, bytes: 18, set: keepCodebook, block: codebookBlock},
		{name: "q4_1", does: [2]string{"d, m float16, 16 bytes of nibbles q", "x = d*q + m"}, elems: 32, bytes: 20, plain: true, set: setNibbles, block: q4_1},
		{name: "q5_0", does: [2]string{"d float16, 32 fifth bits h, 16 bytes of nibbles q", "x = d*(q + 16*h - 16)"}, elems: 32, bytes: 22, set: setFives, block: q5_0},
		{name: "q5_1", does: [2]string{"d, m float16, 32 fifth bits h, 16 bytes of nibbles q", "x = d*(q + 16*h) + m"}, elems: 32, bytes: 24, plain: true, set: setFives, block: q5_1, stops: ifHalvesOdd},
		{name: "q2_K", does: [2]string{"16 pairs of nibbles s, t; 64 bytes of two bits q; d, m float16", "x = (d*s)*q - m*t for 16 numbers each"}, elems: 256, bytes: 84, plain: true, set: setNibbles, loop: q2K, stops: ifSignsOddAt(80)},
		{name: "q3_K", does: [2]string{"256 third bits h; 64 bytes of two bits q; 16 scales s of six bits; d float16", "x = d*(s-32) * (q + 4*h - 4) for 16 numbers each"}, elems: 256, bytes: 110, loop: q3K},
		{name: "q4_K", does: [2]string{"d, m float16; eight pairs s, t of six bits; 128 bytes of nibbles q", "x = (d*s)*q - m*t for 32 numbers each"}, elems: 256, bytes: 144, plain: true, set: setNibbles, loop: q45K(false), stops: ifSignsOddAt(0)},
		{name: "q5_K", does: [2]string{"d, m float16; eight pairs s, t of six bits; 256 fifth bits h; 128 bytes of nibbles q", "x = (d*s)*(q + 16*h) - m*t for 32 numbers each"}, elems: 256, bytes: 176, plain: true, set: setFives, loop: q45K(true), stops: ifSignsOddAt(0)},
		{name: "q6_K", does: [2]string{"128 bytes of nibbles q; 64 bytes of two bits h; 16 signed bytes s; d float16", "x = d*s * (q + 16*h - 32) for 16 numbers each"}, elems: 256, bytes: 210, set: holding(ofSixes), loop: q6K},
		{name: "iq4_XS", does: [2]string{"d float16; eight scales s of six bits; 128 bytes of nibbles q", "x = d*(s-32) * codebook[q] for 32 numbers each"}, elems: 256, bytes: 136, set: setNibbles, loop: iq4XS, stops: ifNotFinite},
		{name: "mxfp4", does: [2]string{"a scale s of eight bits, 16 bytes of nibbles q", "x = mxfp4Tables[s][q]"}, elems: 32, bytes: 17, set: setNibbles, block: mxfp4},
		{name: "nvfp4", does: [2]string{"four scales s of eight bits, 32 bytes of nibbles q", "x = nvfp4Tables[s][q] for 16 numbers each"}, elems: 64, bytes: 36, set: setNibbles, block: nvfp4},
		{name: "tq1_0", does: [2]string{"52 bytes of five or four digits q in base 3; d float16", "x = d*(q-1)"}, elems: 256, bytes: 54, block: tq1},
		{name: "tq2_0", does: [2]string{"64 bytes of two bits q; d float16", "x = d*(q-1)"}, elems: 256, bytes: 66, loop: tq2},
		{name: "q1_0", does: [2]string{"d float16, 128 bits q", "x = d if q is set, else -d"}, elems: 128, bytes: 18, set: holding(ofBits), block: q1},
		{name: "q2_0", does: [2]string{"d float16, 16 bytes of two bits q", "x = d*(q-1)"}, elems: 64, bytes: 18, block: q2},
		{name: "iq1_S", does: [2]string{"d float16; 32 low bytes of indices i; eight words: high bits, a scale s of three bits, a sign", "x = d*(2s+1) * (iq1Grid[i] +- 1/8), eight numbers for each i"}, elems: 256, bytes: 50, loop: iq1S},
		{name: "iq1_M", does: [2]string{"32 low bytes of indices i; 16 bytes of high bits and signs; d and 16 scales s in four words", "x = d*(2s+1) * (iq1Grid[i] +- 1/8), eight numbers for each i"}, elems: 256, bytes: 56, loop: iq1M},
		{name: "iq2_XXS", does: [2]string{"d float16; eight times four indices i, four sets of seven signs, a scale s of four bits", "x = d*(1/2+s)/4 * iq2xxsGrid[i] with the signs"}, elems: 256, bytes: 66, set: holding(ofBits), loop: iq2XXS},
		{name: "iq2_XS", does: [2]string{"d float16; 32 words: an index i of nine bits, seven signs; 16 scales s of four bits", "x = d*(1/2+s)/4 * iq2xsGrid[i] with the signs"}, elems: 256, bytes: 74, set: holding(ofBits), loop: iq2XS},
		{name: "iq2_S", does: [2]string{"d float16; 32 low bytes of indices i; 32 sets of signs; high bits; 16 scales s of four bits", "x = d*(1/2+s)/4 * iq2sGrid[i] with the signs"}, elems: 256, bytes: 82, set: holding(ofBits), loop: iq2S},
		{name: "iq3_XXS", does: [2]string{"d float16; 64 indices i; eight times four sets of seven signs and a scale s of four bits", "x = d*(1/2+s)/2 * iq3xxsGrid[i] with the signs, four numbers for each i"}, elems: 256, bytes: 98, set: holding(ofBits), loop: iq3XXS},
		{name: "iq3_S", does: [2]string{"d float16; 64 low bytes of indices i; high bits; 32 sets of signs; eight scales s of four bits", "x = d*(2s+1) * iq3sGrid[i] with the signs, four numbers for each i"}, elems: 256, bytes: 110, set: holding(ofBits), loop: iq3S},
	}
}

// enter makes the kernel the entry of its types.
func (l layout) enter(name, target string, stops bool) {
	rows := l.rows
	if rows == nil {
		rows = []blockRow{{strings.ToUpper(l.name), ""}}
	}
	for _, r := range rows {
		kernel := name
		if r.told != "" {
			kernel = fmt.Sprintf("with(%s, %s)", kernel, r.told)
		}
		if !stops {
			kernel = "takesAll(" + kernel + ")"
		}
		Entry(kernel, "blocks[%s][%s]", target, r.kind)
	}
}

func blockKernel(l layout, k *kernel) {
	name := l.name + k.Name + "AVX2"
	result, doc := "", "decodes n blocks."
	if k.ordinary {
		result, doc = " (left int)", "decodes n blocks and says how many are left when it stops, in front of scales that are not ordinary."
	}
	l.enter(name, k.Name, k.ordinary)
	Frame(name, "func(dst *byte, src *byte"+l.takes+", n int)"+result, doc)
	Comment("For each block: "+l.does[0]+":", l.does[1]+";", "dst = x, rounded to "+k.Name+".")
	k.dst, k.src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	n := Load(Param("n"), GP64())
	k.align()
	k.begin(!l.plain)
	if l.set != nil {
		l.set(k)
	}
	block, done := NewLabel("block"), NewLabel("done")
	block.Here()
	if k.ordinary {
		l.stops(k, done)
	}
	if l.loop != nil {
		Comment("The scales of a block.")
		l.loop(k)
	} else {
		Comment("A block.")
		l.block(k)
		k.prefetch(l.elems)
		ADDQ(U32(l.elems*k.Width()), k.dst)
	}
	ADDQ(U32(l.bytes), k.src)
	DECQ(n)
	JNZ(block.Ref())
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
	k.prefetch(round * elems)
	ADDQ(U32(round*elems*k.Width()), k.dst)
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
