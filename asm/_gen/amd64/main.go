// Command amd64 writes the kernels of package asm for amd64: kernels_amd64.s
// and the Go declarations beside it. One function here is one technique or one
// layout; what differs between two kernels only by a number is a parameter.
//
// Conventions of every kernel: no tail, no branch on data unless its comment
// says so, whole blocks or chunks only. The Go wrappers check all lengths.
package main

import . "github.com/mmcloughlin/avo/build"

func main() {
	ConstraintExpr("!purego")
	limitKernel()
	blockKernels()
	castKernels()
	bytesKernels()
	bookKernels()
	float8Kernels()
	transposeKernels()
	lanesKernel()
	spreadKernel()
	swapKernels()
	gatherKernels()
	halfBytesKernels()
	encodeKernels()
	specialKernels()
	Generate()
}
