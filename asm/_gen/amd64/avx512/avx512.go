// Package avx512 is the kernels of the level with registers of 64 bytes.
package avx512

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/blocks"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/encode"
)

// Kernels writes them.
func Kernels() {
	blocks.AVX512()
	casts()
	encode.AVX512()
}
