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

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	. "github.com/mmcloughlin/avo/reg"
)

func main() {
	level := flag.String("level", "avx2", "avx2, avx512 or avx512bf16")
	flag.Parse()
	ConstraintExpr("!purego")
	pass.Compile = pass.Concat(pass.FunctionPass(unread), pass.Compile)
	switch *level {
	case "avx2":
		kernels()
	case "avx512":
		zkernels()
	case "avx512bf16":
		short = true
		withWords()
		zblockKernels()
		zbytesKernels()
		zcastKernels()
	default:
		log.Fatalf("no level %s", *level)
	}
	Generate()
}

func kernels() {
	limitKernel()
	blockKernels()
	castKernels()
	bytesKernels()
	bookKernels()
	pairKernels()
	float8Kernels()
	transposeKernels()
	lanesKernel()
	spreadKernel()
	fieldsKernel()
	pickKernel()
	swapKernel()
	columnsKernels()
	eachKernels()
	expandKernels()
	halfBytesKernels()
	encodeKernels()
	specialKernels()
}

// zkernels is what has registers of 64 bytes.
func zkernels() {
	zblockKernels()
	zbytesKernels()
	zeachKernel()
	zbookKernels()
	zfloat8Kernels()
	zlookedKernel()
	zmantissaKernel()
	zfloat8LongKernel()
	zcastKernels()
	zlanesKernel()
	zspreadKernel()
	zfieldsKernel()
	zswapKernel()
	zabsmaxKernel()
	znearestKernel()
	zint8Kernel()
	zcolumnsKernels()
}

// function begins a kernel.
func function(name, signature, doc string) {
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + " " + doc)
}

// more ends one whose rounds begin at that label: they move on by so many bytes.
func more(n, src Register, in Op, dst Register, out Op) {
	ADDQ(in, src)
	ADDQ(out, dst)
	DECQ(n)
	JNZ(LabelRef("more"))
	end()
}

// end ends it.
func end() {
	VZEROUPPER()
	RET()
}
