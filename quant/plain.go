package quant

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
)

func decodeF32(dst []float32, src []byte) {
	for i := range len(src) / 4 {
		dst[i] = math.Float32frombits(u32(src[4*i:]))
	}
}

func decodeF16(dst []float32, src []byte) {
	for i := range len(src) / 2 {
		dst[i] = half(src[2*i:])
	}
}

func decodeBF16(dst []float32, src []byte) {
	for i := range len(src) / 2 {
		dst[i] = asm.BfloatToFloat(u16(src[2*i:]))
	}
}

func decodeI8(dst []float32, src []byte) {
	for i, c := range src {
		dst[i] = float32(int8(c))
	}
}

func decodeU8(dst []float32, src []byte) {
	for i, c := range src {
		dst[i] = float32(c)
	}
}
