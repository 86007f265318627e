package emit

import (
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// An instruction is a function of avo that writes one, by how many operands it takes.
type instruction interface {
	func(...Op) | func(Op, Op) | func(Op, Op, Op) | func(Op, Op, Op, Op)
}

// Into is a register with what an instruction makes of its other operands, which come first.
func Into[R Register, I instruction](to R, write I, from ...Op) R {
	switch write := any(write).(type) {
	case func(...Op):
		write(append(from, to)...)
	case func(Op, Op):
		write(from[0], to)
	case func(Op, Op, Op):
		write(from[0], from[1], to)
	case func(Op, Op, Op, Op):
		write(from[0], from[1], from[2], to)
	}
	return to
}
