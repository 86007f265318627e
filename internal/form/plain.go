package form

import (
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
)

func decodeF32(dst []float32, src []byte) {
	for i := range len(src) / 4 {
		dst[i] = math.Float32frombits(U32(src[4*i:]))
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

// writeI8 is decodeI8 by a kernel.
func writeI8(o *asm.Ops, to asm.Type, dst, src, _ []byte) {
	o.Bytes(asm.Bytes{}, to, dst, src, asm.Runs{Scales: unitScale[:], Length: max(1, len(src))})
}

func decodeU8(dst []float32, src []byte) {
	for i, c := range src {
		dst[i] = float32(c)
	}
}

// writeU8 is decodeU8 by a kernel.
func writeU8(o *asm.Ops, to asm.Type, dst, src, _ []byte) {
	o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, to, dst, src, asm.Runs{Scales: unitScale[:], Seconds: zeroPoint[:], Length: max(1, len(src))})
}
