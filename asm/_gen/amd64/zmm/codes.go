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
	if n == 0 {
		return c
	}
	shift := [2]func(...Op){VPSRLD, VPSRLW}
	if n < 0 {
		shift, n = [2]func(...Op){VPSLLD, VPSLLW}, -n
	}
	for _, x := range c {
		if z.Words() {
			out = append(out, Into(ZMM(), shift[1], Imm(uint64(n)), x))
		} else {
			out = append(out, Into(ZMM(), shift[0], Imm(uint64(n)), x))
		}
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

// A table of 32 words is looked up by its bytes: VPERMB is an instruction of one
// port where VPERMW takes two. An index is a word whose bytes have the code from
// bit 1 on, and in bit 0 which byte of the number they are for.

// SetIndex keeps the mask of four bits from bit 1 on.
func (z *Kernel) SetIndex() {
	if z.Words() {
		z.code = All(0x1E1E1E1E)
	}
}

// Index makes an index of codes of four bits, in place: those of the first
// sixteen numbers of a table, or of the second.
func (z *Kernel) Index(x VecVirtual, second int) VecVirtual {
	VPTERNLOGD_BCST(Imm(AndOr), Dwords(0x01000100|uint32(second)*0x20202020), z.code, x)
	return x
}

// Placed writes what a table has for 32 indices.
func (z *Kernel) Placed(at int, index VecVirtual, t Table) {
	x := Into(ZMM(), VPERMB, t[0], index)
	VMOVDQU64(x, z.To(at))
}

// Couple writes 32 codes under one table of sixteen and 32 under another, and
// rounds both tables at once.
func (z *Kernel) Couple(at, next int, c, d Codes, a, b VecVirtual) {
	if !z.Words() {
		z.Lookup(at, c, z.Table16(a))
		z.Lookup(next, d, z.Table16(b))
		return
	}
	t := z.Table32(a, b)
	z.Placed(at, z.Index(c[0], 0), t)
	z.Placed(next, z.Index(d[0], 1), t)
}

// NibblesOf is 32 codes of 16 bytes: the low nibbles, then the high ones. To
// words they stand from bit 1 on in both bytes of each.
func (z *Kernel) NibblesOf(off int) Codes {
	if !z.Words() {
		x, at := Sixteen(z.From(off)), func(i int) int { return i }
		return Codes{Lanes(x, at, func(int) int { return 0 }), Lanes(x, at, func(int) int { return 4 })}
	}
	x := Into(ZMM(), VPERMB, Sixteen(z.From(off)), Load64(Bytes64(func(i int) int { return i / 2 % 16 })))
	VPROLVD(Dwords64(func(i int) int { return [2]int{1, 32 - 3}[i/8] }), x, x)
	return Codes{x}
}

// NibblePair is the low nibbles of 32 bytes, and the high ones, each as nibblesOf
// gives them.
func (z *Kernel) NibblePair(off int) (low, high Codes) {
	if !z.Words() {
		c := z.Codes(z.From(off))
		return c, z.Moved(c, 4)
	}
	x, a, b := Repeated(z.From(off)), ZMM(), ZMM()
	VPADDW(x, x, a)
	VPSRLW(Imm(3), x, b)
	return Codes{a}, Codes{b}
}

// Repeated is 32 bytes, each in both bytes of a word.
func Repeated(m Mem) VecVirtual {
	x := ZMM()
	VMOVDQU32(m, x.AsY())
	VPERMB(x, Load64(Bytes64(func(i int) int { return i / 2 })), x)
	return x
}
