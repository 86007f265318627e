package main

import (
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

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
	k.looped = true
	XORL(g.counter.(GP).As32(), g.counter.(GP).As32())
	Label("groups")
	Comment("The scales are ready. Groups of the block, " + strconv.Itoa(round) + " in a round.")
	body(g)
	k.prefetch(round * elems)
	ADDQ(U32(round*elems*k.width()), k.dst)
	ADDQ(U32(unit), g.counter)
	CMPQ(g.counter, U32(n/round*unit))
	JNE(LabelRef("groups"))
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
	y := YMM()
	VBROADCASTSS(g.at(s.at.Offset(4*j), 4*each, i), y)
	return y
}
