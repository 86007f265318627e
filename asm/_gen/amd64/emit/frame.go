// Package emit is what the kernels of all techniques and levels have in common:
// frames of functions, labels, and constants.
package emit

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Frame begins a kernel: its name, its signature, what it does, and how, as comments of
// the text.
func Frame(name, signature, doc string, how ...string) {
	clear(named)
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + " " + doc)
	if len(how) > 0 {
		Comment(how...)
	}
}

// End ends it.
func End() {
	VZEROUPPER()
	RET()
}

// A Target is a type that kernels write.
type Target struct {
	Name   string
	Wide   bool // numbers stay float32 until they are stored
	Narrow bool // and are stored as float16
}

var (
	ToF32  = Target{"F32", true, false}
	ToBF16 = Target{"BF16", false, false}
	ToF16  = Target{"F16", true, true}

	Targets = []Target{ToF32, ToBF16, ToF16}
)

// Widen fills a register with numbers of the type.
func (t Target) Widen(m Mem, x VecVirtual) {
	switch t {
	case ToBF16:
		VPMOVZXWD(m, x)
		VPSLLD(Imm(16), x, x)
	case ToF16:
		VCVTPH2PS(m, x)
	default:
		VMOVUPS(m, x)
	}
}

// Width is the bytes of one number written.
func (t Target) Width() int {
	if t == ToF32 {
		return 4
	}
	return 2
}
