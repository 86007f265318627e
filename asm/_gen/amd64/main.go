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

	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/avx2"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/avx512"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/rows"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
)

func main() {
	level := flag.String("level", "avx2", "avx2 or avx512")
	fills := flag.String("rows", "", "the file of the functions that fill the tables of the levels")
	flag.Parse()
	ConstraintExpr("!purego")
	pass.Compile = pass.Concat(pass.FunctionPass(emit.Unread), pass.Func(emit.Shorten), pass.Compile)
	switch *level {
	case "avx2":
		avx2.Kernels()
		rows.Kernels()
	case "avx512":
		avx512.Kernels()
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
