// Package avx2 is the kernels of registers of 32 bytes, a file for each technique. What
// several have in common is in kernel.go (numbers rounded and written), lookup.go (tables),
// blocks.go (the loops over blocks and their groups), runs.go (those over runs) and exact.go
// (scales that models do not have).
package avx2

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
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
	halfBytesKernels()
	encodeKernels()
	specialKernels()
}

// The names by which these kernels ask for what all levels have.
var (
	function, end, entry         = emit.Frame, emit.End, emit.Entry
	data, bytes32, words, dwords = emit.Data, emit.Bytes32, emit.Words, emit.Dwords
	qwords, floats               = emit.Qwords, emit.Floats
	variable, load               = emit.Variable, emit.Load32
	newLabel, repeat             = emit.NewLabel, emit.Repeat
	toF32, toBF16, toF16         = emit.ToF32, emit.ToBF16, emit.ToF16
	targets                      = emit.Targets
)

// A label belongs to the kernel that made it.
type label = emit.Place

// rounds is a kernel's only loop, to its end: a pass moves on by so many bytes.
func rounds(n, src Register, in Op, dst Register, out Op, body func()) {
	repeat("more", n, func() {
		body()
		ADDQ(in, src)
		ADDQ(out, dst)
	})
	end()
}
