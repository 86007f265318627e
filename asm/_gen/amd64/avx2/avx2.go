// Package avx2 is the kernels of registers of 32 bytes, a file for each technique. What
// several have in common is in kernel.go (numbers rounded and written), lookup.go (tables),
// blocks.go (the loops over blocks and their groups), runs.go (those over runs) and exact.go
// (scales that models do not have).
package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Kernels writes them.
func Kernels() {
	limitKernel()
	blockKernels()
	castKernels()
	bytesKernels()
	codebookKernels()
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
	encodeKernels()
	specialKernels()
}

// rounds is a kernel's only loop, to its end: a pass moves on by so many bytes.
func rounds(n, src Register, in Op, dst Register, out Op, body func()) {
	Repeat("more", n, func() {
		body()
		ADDQ(in, src)
		ADDQ(out, dst)
	})
	End()
}
