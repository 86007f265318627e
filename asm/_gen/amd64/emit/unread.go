package emit

import (
	"slices"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/reg"
)

// Unread leaves out what makes a register of vectors that nothing reads: kernels of
// a kind begin alike, and not each needs all of that.
func Unread(fn *ir.Function) error {
	for before := -1; before != len(fn.Nodes); {
		before = len(fn.Nodes)
		read := map[reg.ID]bool{}
		for _, i := range fn.Instructions() {
			for _, r := range i.InputRegisters() {
				read[r.ID()] = true
			}
		}
		fn.Nodes = slices.DeleteFunc(fn.Nodes, func(n ir.Node) bool {
			i, ok := n.(*ir.Instruction)
			if !ok || len(i.Outputs) != 1 {
				return false
			}
			out, ok := i.Outputs[0].(reg.Register)
			return ok && out.Kind() == reg.KindVector && !read[out.ID()]
		})
	}
	return nil
}
