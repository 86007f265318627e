package form

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
)

func decodeF8E8M0(dst []float32, src []byte) {
	for i, c := range src {
		dst[i] = e8m0(c)
	}
}

// e8m0 returns 2^(c-127), an exponent of OCP microscaling 1.0. The code FF is NaN.
func e8m0(c uint8) float32 {
	switch c {
	case 0:
		return 0x1p-127
	case 0xFF:
		return float32(math.NaN())
	default:
		return math.Float32frombits(uint32(c) << 23)
	}
}

// writeF8E8M0 converts the codes to BF16, which has the same exponents, and casts those.
func writeF8E8M0(o *asm.Ops, to asm.Type, dst, src, room []byte) {
	words := room[:2*len(src)]
	exponentWords(words, src)
	o.Cast(asm.BF16, to, dst, words)
}

// exponentWords converts E8M0 to BF16, four codes at a time. Code 0 gets the top mantissa
// bit, which is the subnormal 2^-127, and so does FF, which is NaN.
func exponentWords(dst, src []byte) {
	const low, all = 0x0001_0001_0001_0001, 0x00FF_00FF_00FF_00FF
	for ; len(src) >= 4; dst, src = dst[8:], src[4:] {
		v := uint64(U32(src))
		v = (v | v<<16) & 0x0000_FFFF_0000_FFFF
		v = (v | v<<8) & all
		ends := ^((v+low)&(0xFE*low) + 0xFE*low) & (0x100 * low) // bit 8 of codes 0 and FF
		binary.LittleEndian.PutUint64(dst, v<<7|ends>>2)
	}
	for i, c := range src {
		word := uint16(c) << 7
		if c == 0 || c == 0xFF {
			word |= 1 << 6
		}
		binary.LittleEndian.PutUint16(dst[2*i:], word)
	}
}
