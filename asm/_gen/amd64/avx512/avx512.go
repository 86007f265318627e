// Package avx512 is the kernels of two levels: those with registers of 64 bytes, and what
// of them rounds to BF16 by the instruction for it.
package avx512

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/blocks"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/encode"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/float8"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/kquants"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/move"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
)

// Kernels writes those of the level avx512.
func Kernels() {
	blocks.AVX512(layouts())
	float8.AVX512()
	move.AVX512()
	encode.AVX512()
}

// BF16 writes those of the level avx512+bf16.
func BF16() {
	zmm.WithBF16()
	blocks.AVX512(layouts())
	move.AVX512()
}

func layouts() []blocks.Layout { return slices.Concat(blocks.Small, kquants.AVX512Layouts) }
