package zmm

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Codes are 32 numbers of few bits: one register of words, or to F32 two of
// dwords. Lookups take as many of their lower bits as the table has entries
// for, so that what stands above needs no mask.
type Codes []VecVirtual

// Codes widens 32 bytes of memory.
func (z *Kernel) Codes(m Mem) Codes {
	if z.Words() {
		x := Into(ZMM(), VPMOVZXBW, m)
		return Codes{x}
	}
	return Codes{Unsigned(m), Unsigned(m.Offset(16))}
}

// Above is the codes moved down by n bits.
func (z *Kernel) Above(c Codes, n int) (out Codes) {
	for _, x := range c {
		y := ZMM()
		if !z.Words() {
			VPSRLD(Imm(uint64(n)), x, y)
		} else {
			VPSRLW(Imm(uint64(n)), x, y)
		}
		out = append(out, y)
	}
	return out
}

// Unsigned widens sixteen bytes to dwords, Signed signed ones.
func Unsigned(m Mem) VecVirtual {
	return Into(ZMM(), VPMOVZXBD, m)
}

func Signed(m Mem) VecVirtual {
	return Into(ZMM(), VPMOVSXBD, m)
}

// ToFloats makes numbers of dwords, in place.
func ToFloats(x ...VecVirtual) {
	for _, x := range x {
		VCVTDQ2PS(x, x)
	}
}

// Moved is the codes moved down by n bits, or up.
func (z *Kernel) Moved(c Codes, n int) (out Codes) {
	if n > 0 {
		return z.Above(c, n)
	}
	if n == 0 {
		return c
	}
	for _, x := range c {
		y := ZMM()
		if !z.Words() {
			VPSLLD(Imm(uint64(-n)), x, y)
		} else {
			VPSLLW(Imm(uint64(-n)), x, y)
		}
		out = append(out, y)
	}
	return out
}

// Lanes is sixteen dwords made of bytes of src: of dword i the byte at(i) is
// put lowest, and what stands shift(i) above comes down. What is above that is
// anything.
func Lanes(src VecVirtual, at, shift func(i int) int) VecVirtual {
	x := Into(ZMM(), VPERMB, src, Load64(Bytes64(func(i int) int { return at(i/4) + i%4 })))
	VPSRLVD(Dwords64(shift), x, x)
	return x
}

// Sixteen is 16 bytes of memory, and zeros.
func Sixteen(m Mem) VecVirtual {
	x := ZMM()
	VMOVDQU32(m, x.AsX())
	return x
}

// Picked is 32 codes made of bytes of src: code e is byte at(e), with what
// stands shift(e) above brought down. What is above that is anything.
func (z *Kernel) Picked(src VecVirtual, at, shift func(e int) int) Codes {
	if !z.Words() {
		return Codes{Lanes(src, at, shift), Lanes(src, func(i int) int { return at(16 + i) }, func(i int) int { return shift(16 + i) })}
	}
	x := Into(ZMM(), VPERMB, src, Load64(Bytes64(func(i int) int { return at(i/2) + i%2 })))
	VPSRLVW(Words64(shift), x, x)
	return Codes{x}
}
