package emit

import (
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
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

// Shorten leaves of each constant what is read of it: numbers that are the same in all
// lanes stand there once, where all that name them repeat one.
func Shorten(f *ir.File) error {
	read := map[string]int{}
	for _, fn := range f.Functions() {
		for _, i := range fn.Instructions() {
			for _, op := range i.Operands {
				if m, ok := op.(operand.Mem); ok {
					read[m.Symbol.Name] = max(read[m.Symbol.Name], m.Disp+readBy(i))
				}
			}
		}
	}
	for _, s := range f.Sections {
		if g, ok := s.(*ir.Global); ok && read[g.Symbol.Name] <= 8 {
			g.Size = 8
			g.Data = g.Data[:1]
		}
	}
	return nil
}

// readBy is the bytes that an instruction reads, or 64 for any number above eight.
func readBy(i *ir.Instruction) int {
	one := []string{"VPBROADCASTB", "VPBROADCASTW", "VPBROADCASTD", "VPBROADCASTQ", "VBROADCASTSS", "VMOVSS", "VMOVSD", "VMULSS", "VMULSD"}
	if slices.Contains(one, i.Opcode) || slices.Contains(i.Suffixes, "BCST") || strings.HasPrefix(i.Opcode, "VCVTS") {
		return 8
	}
	return 64
}
