// Package encode is what writes codes: the largest magnitudes of runs, the nearest
// codes of a codebook, and bytes.
package encode

import (
	"math"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// An Encoder writes the codes of runs of numbers, each under a scale.
type Encoder struct {
	Name, Level, Params, Doc string
	Says                     []string
	Out                      int                                          // bytes that a chunk of 32 numbers becomes
	Before                   func()                                       // what all runs have in common
	Inverse                  func(scale Mem, x VecVirtual)                // one over the scale, before it is needed
	Run                      func(scale Mem, x VecVirtual) (odd Register) // not zero where Other takes the chunks, or nil
	Chunk, Other             func(src, dst Register)
	Behind                   func() // code that few chunks take, behind all other
}

// Write writes the kernel. The inverse of the next scale is made before the run, as
// divisions take long.
func (e *Encoder) Write() {
	Frame(e.Name+e.Level, "func(dst *byte, src *byte, scales *float32"+e.Params+", chunks int, n int)", e.Doc,
		e.Says...)
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	scales, n, chunks := Load(Param("scales"), GP64()), Load(Param("n"), GP64()), GP64()
	run, other, next := NewLabel("run"), NewLabel("other"), NewLabel("next")
	e.Before()
	x, after := XMM(), GP64()
	e.Inverse(Mem{Base: scales}, x)
	loop := func(chunk func(src, dst Register)) {
		Repeat("chunk", chunks, func() {
			Ask(src, Row, 128)
			chunk(src, dst)
			ADDQ(U32(128), src)
			ADDQ(Imm(uint64(e.Out)), dst)
		})
	}
	run.Here()
	Comment("The scale of a run, and the inverse of the next one's.")
	Load(Param("chunks"), chunks)
	odd := e.Run(Mem{Base: scales}, x)
	LEAQ(Mem{Base: scales, Disp: 4}, after)
	CMPQ(n, Imm(1))
	CMOVQNE(after, scales)
	e.Inverse(Mem{Base: scales}, x)
	if odd != nil {
		TESTL(odd, odd)
		JNZ(other.Ref())
	}
	loop(e.Chunk)
	next.Here()
	DECQ(n)
	JNZ(run.Ref())
	End()
	if odd != nil {
		other.Here()
		Comment("A run under a scale so small that subnormal numbers count.")
		loop(e.Other)
		JMP(next.Ref())
	}
	if e.Behind != nil {
		e.Behind()
	}
}

// OneOver divides in double precision and rounds once more, which is the same
// number: no quotient of two floats is near the middle of two, subnormal or not,
// without being it. A division with a subnormal operand or quotient holds up all
// else.
func OneOver(s Op, x VecVirtual) {
	one := Into(XMM(), VMOVSD, Qwords(math.Float64bits(1)))
	VCVTSS2SD(s, one, x)
	VDIVSD(x, one, x)
	VCVTSD2SS(x, x, x)
}

// InverseFrom is one over a scale, of which the least is that.
func InverseFrom(least VecVirtual) func(scale Mem, x VecVirtual) {
	return func(scale Mem, x VecVirtual) {
		most := Into(XMM(), VMAXSS, scale, least) // the second where one is NaN: the scale
		OneOver(most, x)
	}
}
