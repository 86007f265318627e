// Package rows is what encodes whole rows as blocks: registers of 32 bytes.
//
// Searches of scales take sixteen groups at once. Element i of all groups lies in sixteen lanes
// side by side, two registers, so that each group's sums keep their order.
package rows

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Kernels writes them.
func Kernels() {
	weigh()
	affine(false)
	affine(true)
	symmetric()
	moves()
	codebook()
	codebookCodes()
	choose("choose", "/", VDIVPS)
	choose("chooseTimes", "*", VMULPS)
	grids()
	q8_0()
	q4_0()
	symmetricCodes()
	affineCodes()
	mxfp4()
	nvfp4()
	e4m3()
	e2m1()
}

// Where things lie in the memory of a search, the Go type lanes: four arrays of 32 elements,
// then numbers of the groups.
const (
	atX, atW, atWX, atCodes = 0, 2048, 4096, 6144
	element                 = 64 // bytes of one element of all groups
)

const (
	atScale = 8192 + element*iota
	atLow
	atSum
	atSumX
	atHigh
	atLeast
	atCost
	atBad
	atTop
	atBottom
	atMean
	atLargest
	atTrial
	atBase
	atTrials
)

// A value is a number of each lane: of all sixteen, or of the eight of one register; in
// registers, in memory, or the same for all.
type value struct {
	regs []VecVirtual
	mem  Mem
	step int // from one register's part in memory to the next one's, where there are two
}

// part is what an instruction names for the lanes of register i.
func (v value) part(i int) Op {
	if v.regs != nil {
		return v.regs[i%len(v.regs)]
	}
	return v.mem.Offset(i * v.step)
}

// half is the lanes of one register.
func (v value) half(i int) value {
	if v.regs != nil {
		return value{regs: v.regs[i%len(v.regs):][:1]}
	}
	return value{mem: v.mem.Offset(i * v.step)}
}

// registers are n for a value.
func registers(n int) value {
	v := value{}
	for range n {
		v.regs = append(v.regs, YMM())
	}
	return v
}

// new is a value of the lanes that a kernel takes at once, and one that of a register's.
func (f *fit) new() value { return registers(f.parts) }
func one() value          { return registers(1) }

// each applies an instruction to all lanes: its last value is where the result goes.
func each(instruction func(...Op), values ...value) {
	for i := range values[len(values)-1].count() {
		var ops []Op
		for _, v := range values {
			ops = append(ops, v.part(i))
		}
		instruction(ops...)
	}
}

// count is how many registers a value takes.
func (v value) count() int {
	switch {
	case v.regs != nil:
		return len(v.regs)
	case v.step > 0:
		return 2
	}
	return 1
}

// all is a constant in all lanes.
func all(bits uint32) value { return value{mem: emit.Dwords(bits)} }

func number(f float32) value { return all(math.Float32bits(f)) }

// broadcast is a number of memory in all lanes.
func broadcast(m Mem) value {
	x := one()
	VBROADCASTSS(m, x.regs[0])
	return x
}

// load loads all lanes, or those of one register.
func load(v value) value {
	out := registers(v.count())
	move(v, out)
	return out
}

// move copies to or from memory.
func move(from, to value) { each(VMOVUPS, from, to) }

// zero is zeros of the lanes that a kernel takes at once.
func (f *fit) zero() value {
	out := f.new()
	each(VXORPS, out, out, out)
	return out
}

// round rounds to integers, ties to even.
func round(a, to value) {
	each(func(ops ...Op) { VROUNDPS(Imm(8), ops[0], ops[1]) }, a, to)
}

// Predicates of VCMPPS: false of NaN, but notLess and other are true of it.
const (
	less    = 17
	notLess = 5
	other   = 4 // not equal
	equal   = 0
)

// compare is ones in the lanes where a < b, or whatever the predicate says.
func compare(predicate uint64, a, b, to value) {
	each(func(ops ...Op) { VCMPPS(Imm(predicate), ops[0], ops[1], ops[2]) }, b, a, to)
}

// where puts what yes has into to, in the lanes of a mask.
func where(mask, yes, to value) {
	each(func(ops ...Op) { VBLENDVPS(ops[0], ops[1], ops[2], ops[2]) }, mask, yes, to)
}

// elements is a loop over the elements of the groups, from an offset on. The body is that of
// one register of lanes after the other, so that few are in use.
func (f *fit) elements(name string, from int, body func(i Register, half func(v value) value)) {
	i, again := GP64(), emit.NewLabel(name)
	MOVQ(U32(uint32(from)), i)
	again.Here()
	for k := range f.parts {
		body(i, func(v value) value { return v.half(k) })
	}
	ADDQ(Imm(element), i)
	CMPQ(i, f.n)
	JCS(again.Ref())
}
