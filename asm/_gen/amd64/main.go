// Command amd64 writes the kernels of package asm for amd64: one level's
// assembly and the Go declarations beside it. One function here is one technique or one
// layout; what differs between two kernels only by a number is a parameter.
//
// Conventions of every kernel: no tail, no branch on data unless its comment
// says so, whole blocks or chunks only. The Go wrappers check all lengths.
package main

import (
	"flag"
	"log"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/avx2"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/blocks"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/encode"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/rows"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/runs"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	level := flag.String("level", "avx2", "avx2 or avx512")
	fills := flag.String("rows", "", "the file of the functions that fill the tables of the levels")
	flag.Parse()
	ConstraintExpr("!purego")
	pass.Compile = pass.Concat(pass.FunctionPass(unread), pass.Func(shorten), pass.Compile)
	switch *level {
	case "avx2":
		avx2.Kernels()
		rows.Kernels(emit.Narrow)
	case "avx512":
		blocks.AVX512()
		runs.AVX512()
		encode.Kernels(emit.Wide)
		rows.Kernels(emit.Wide)
	default:
		log.Fatalf("no level %s", *level)
	}
	Generate()
	if *fills != "" {
		if err := emit.WriteEntries(*level, *fills); err != nil {
			log.Fatal(err)
		}
	}
}

// unread removes instructions whose vector register nothing reads: kernels of a kind begin
// alike, and not each needs all of that.
func unread(fn *ir.Function) error {
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

// shorten cuts constants to what is read: memory with the same number in all lanes holds
// it once where every instruction broadcasts it.
func shorten(f *ir.File) error {
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

// readBy returns how many bytes an instruction reads, or 64 for any number above eight.
func readBy(i *ir.Instruction) int {
	one := []string{"VPBROADCASTB", "VPBROADCASTW", "VPBROADCASTD", "VPBROADCASTQ", "VBROADCASTSS", "VMOVSS", "VMOVSD", "VMULSS", "VMULSD"}
	if slices.Contains(one, i.Opcode) || slices.Contains(i.Suffixes, "BCST") || strings.HasPrefix(i.Opcode, "VCVTS") {
		return 8
	}
	return 64
}
