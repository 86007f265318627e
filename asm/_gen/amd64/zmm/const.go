package zmm

import (
	"math"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Bytes64 is 64 bytes, as a function of their place.
func Bytes64(of func(i int) int) Mem {
	var p [64]byte
	for i := range p {
		p[i] = byte(of(i))
	}
	return Data(p[:])
}

// Words64 is 32 words.
func Words64(of func(i int) int) Mem {
	return Bytes64(func(i int) int { return of(i/2) >> (i % 2 * 8) })
}

// Dwords64 is 16 dwords.
func Dwords64(of func(i int) int) Mem {
	return Bytes64(func(i int) int { return of(i/4) >> (i % 4 * 8) })
}

// All is a dword in all lanes.
func All(v uint32) VecVirtual {
	return Into(ZMM(), VPBROADCASTD, Dwords(v))
}

// Load64 is 64 bytes of memory.
func Load64(m Mem) VecVirtual {
	return Into(ZMM(), VMOVDQU64, m)
}

// Qwords64 is eight qwords.
func Qwords64(of func(i int) int) Mem {
	return Bytes64(func(i int) int { return of(i/8) >> (i % 8 * 8) })
}

// DwordsOf is sixteen dwords in a register.
func DwordsOf(of func(i int) int) VecVirtual { return Load64(Dwords64(of)) }

// Counted is the sixteen values from first on.
func Counted(first int) VecVirtual {
	return DwordsOf(func(i int) int { return int(math.Float32bits(float32(first + i))) })
}

// Values is sixteen values.
func Values(v [16]float32) VecVirtual {
	return DwordsOf(func(i int) int { return int(math.Float32bits(v[i])) })
}

// Immediates of VPTERNLOG, of what it is given last to first.
const (
	AndOr  = 0xEA // a & b | c
	OrAnd  = 0xF8 // a | b & c
	Choose = 0xE2 // a where b is set, else c
)

// NotFinite is the classes of VFPCLASS that are quiet NaN, both infinities, signaling NaN.
const NotFinite = 0x01 | 0x18 | 0x80
