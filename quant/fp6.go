package quant

import "github.com/anamnesis-go/anamnesis/asm"

func decodeF6E2M3(dst []float32, src []byte) { sixes(dst, src, asm.E2M3) }
func decodeF6E3M2(dst []float32, src []byte) { sixes(dst, src, asm.E3M2) }

// sixes reads four 6-bit codes from three bytes, lowest bits first.
func sixes(dst []float32, src []byte, f asm.Float) {
	groups(dst, src, 4, 3, func(y []float32, x []byte) {
		v := uint32(x[0]) | uint32(x[1])<<8 | uint32(x[2])<<16
		for i := range y {
			y[i] = f.Value(uint8(v >> (6 * i) & 63))
		}
	})
}
