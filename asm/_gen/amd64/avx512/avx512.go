// Package avx512 is the kernels of the level with registers of 64 bytes.
package avx512

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/blocks"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/encode"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/kquants"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/move"
)

// Kernels writes them.
func Kernels() {
	blocks.AVX512(slices.Concat(blocks.Small, kquants.AVX512Layouts))
	move.AVX512()
	encode.AVX512()
}
