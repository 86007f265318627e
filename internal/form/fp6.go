package form

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/asm"
)

func decodeF6E2M3(dst []float32, src []byte) { decodeSixBits(dst, src, asm.E2M3) }
func decodeF6E3M2(dst []float32, src []byte) { decodeSixBits(dst, src, asm.E3M2) }

// decodeSixBits decodes four 6-bit codes from three bytes, lowest bits first.
func decodeSixBits(dst []float32, src []byte, f asm.Float) {
	groups(dst, src, 4, 3, func(y []float32, x []byte) {
		v := uint32(x[0]) | uint32(x[1])<<8 | uint32(x[2])<<16
		for i := range y {
			y[i] = f.Value(uint8(v >> (6 * i) & 63))
		}
	})
}

// writeSixBits decodes 6-bit codes as an 8-bit format with more exponents: with the sign
// moved to bit 7, the codes stand for the same numbers times a power of two, 1/factor.
func writeSixBits(as asm.Float, factor float32) kernel {
	scale := []float32{factor}
	return func(o *asm.Ops, to asm.Type, dst, src, room []byte) {
		codes := room[:len(src)/3*4]
		o.Fields(6, 0, codes, src)
		moveSigns(codes)
		o.Float8(as, to, dst, codes, scale, max(1, len(codes)))
	}
}

// moveSigns moves bit 5 of each byte to bit 7.
func moveSigns(p []byte) {
	for ; len(p) >= 8; p = p[8:] {
		v := binary.LittleEndian.Uint64(p)
		binary.LittleEndian.PutUint64(p, v&0x1F1F_1F1F_1F1F_1F1F|v&0x2020_2020_2020_2020<<2)
	}
	for i, c := range p {
		p[i] = c&0x1F | c&0x20<<2
	}
}
