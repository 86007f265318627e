// Package rows is what encodes whole rows as blocks, in registers of either kind: the searches and blocks that are
// written most, and in those of 32 bytes all.
//
// Searches of scales take sixteen groups at once. Element i of all groups lies in sixteen lanes
// side by side, one register or two, so that each group's sums keep their order.
package rows

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A level is the registers of one level.
type level struct{ emit.Vectors }

// Kernels writes the kernels of a level.
func Kernels(v emit.Vectors) {
	l := level{v}
	l.weigh()
	l.affine("affine", false)
	l.affine("affineAbsolute", true)
	l.symmetric()
	l.moves()
	l.codebook()
	l.codebookCodes()
	l.choose("chooseTimes", "*", VMULPS)
	l.q8_0()
	l.q4_0()
	if l.Wide() { // a division or a root takes as long for sixteen numbers as two for eight
		return
	}
	l.choose("choose", "/", VDIVPS)
	importance()
	grids()
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

// A value is a number of each lane: of all sixteen, or of the eight of one register; in registers,
// in memory, or equal in all lanes. Masks are values too, in mask registers if there are any.
type value struct {
	regs []Register
	mem  Mem
	step int // distance in memory between the parts of two registers
}

// part returns the operand for the lanes of register i.
func (v value) part(i int) Op {
	if v.regs != nil {
		return v.regs[i%len(v.regs)]
	}
	return v.mem.Offset(i * v.step)
}

// half returns the lanes of one register.
func (v value) half(i int) value {
	h := value{mem: v.mem.Offset(i * v.step)}
	if v.regs != nil {
		h.regs = v.regs[i%len(v.regs):][:1]
	}
	return h
}

// vector returns the first register.
func (v value) vector() VecVirtual { return v.regs[0].(VecVirtual) }

// registers allocates n registers for a value.
func (l level) registers(n int) value {
	v := value{}
	for range n {
		v.regs = append(v.regs, l.Vectors.One())
	}
	return v
}

// new allocates a value of the lanes that a kernel takes in one step.
func (f *fit) new() value  { return f.registers(f.parts) }
func (l level) one() value { return l.registers(1) }

// each applies an instruction to all lanes; the last value is the destination.
func each(instruction func(...Op), values ...value) {
	for i := range values[len(values)-1].count() {
		var ops []Op
		for _, v := range values {
			ops = append(ops, v.part(i))
		}
		instruction(ops...)
	}
}

// of returns the result of an instruction for two values.
func (l level) of(instruction func(...Op), b, a value) value {
	to := l.registers(max(a.count(), b.count()))
	each(instruction, b, a, to)
	return to
}

func (l level) times(b, a value) value { return l.of(VMULPS, b, a) }

func plus(x, sum value) { each(VADDPS, x, sum, sum) }

// count returns how many registers a value takes.
func (v value) count() int {
	switch {
	case v.regs != nil:
		return len(v.regs)
	case v.step > 0:
		return 2
	}
	return 1
}

// all returns a constant in all lanes.
func (l level) all(bits uint32) value { return value{mem: l.Same(bits)} }

func (l level) number(f float32) value { return l.all(math.Float32bits(f)) }

// broadcast loads one number into all lanes.
func (l level) broadcast(m Mem) value {
	x := l.one()
	VBROADCASTSS(m, x.regs[0])
	return x
}

// load loads a value.
func (l level) load(v value) value {
	out := l.registers(v.count())
	move(v, out)
	return out
}

// move copies to or from memory.
func move(from, to value) { each(VMOVUPS, from, to) }

// zero returns zeros in the lanes that a kernel takes in one step.
func (f *fit) zero() value { return cleared(f.new()) }

// cleared sets a value to zeros.
func cleared(v value) value {
	each(VXORPS, v, v, v)
	return v
}

// round rounds to integers, ties to even. On Zen 3, adding 1.5*2^23 and comparing as
// integers is slower.
func (l level) round(x value) {
	if l.Wide() {
		each(func(ops ...Op) { VRNDSCALEPS(Imm(8), ops[0], ops[0]) }, x)
	} else {
		each(func(ops ...Op) { VROUNDPS(Imm(8), ops[0], ops[0]) }, x)
	}
}

// Predicates of VCMPPS: false of NaN, but notLess and other are true of it.
const (
	less    = 17
	notLess = 5
	other   = 4 // not equal
	equal   = 0
)

// compare returns a mask of the lanes for which the predicate holds of a and b.
func (l level) compare(predicate uint64, a, b value) value {
	mask := l.registers(max(a.count(), b.count()))
	if l.Wide() {
		mask = value{regs: []Register{K()}}
	}
	each(func(ops ...Op) { VCMPPS(Imm(predicate), ops[0], ops[1], ops[2]) }, b, a, mask)
	return mask
}

// and returns the intersection of two masks, in the first.
func (l level) and(a, mask value) {
	if l.Wide() {
		KANDW(a.regs[0], mask.regs[0], mask.regs[0])
	} else {
		each(VANDPS, a, mask, mask)
	}
}

// ones returns a mask as numbers of all ones.
func (l level) ones(mask value) value {
	if !l.Wide() {
		return mask
	}
	x := l.one()
	VPMOVM2D(mask.regs[0], x.regs[0])
	return x
}

// ifNone jumps if a mask is empty.
func (l level) ifNone(mask value, to emit.Place) {
	test := VTESTPS
	if l.Wide() {
		test = KORTESTW
	}
	test(mask.regs[0], mask.regs[0])
	JZ(to.Ref())
}

// where copies yes to to in the lanes of a mask.
func (l level) where(mask, yes, to value) {
	if l.Wide() {
		VMOVUPS(yes.part(0), mask.regs[0], to.regs[0])
	} else {
		each(func(ops ...Op) { VBLENDVPS(ops[0], ops[1], ops[2], ops[2]) }, mask, yes, to)
	}
}

// elements writes a loop over the elements of the groups, from an offset on. The body
// handles one register of lanes after the other, so that few registers are in use.
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
