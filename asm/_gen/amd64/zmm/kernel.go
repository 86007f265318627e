// Package zmm is what kernels have in common whose registers have 64 bytes: AVX-512
// with F, BW, VL, DQ and VBMI. They take 32 elements a step, as two registers of
// float32, or as one of words.
//
// A [Kernel] knows its target and where it reads and writes. A [Table] is what few
// codes come to, rounded once for many elements ([Kernel.Table16], [Kernel.Lookup]). No body
// of a kernel makes a NaN, so that nothing is tested while it is written.
package zmm

import (
	"math"

	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A Kernel writes one target.
type Kernel struct {
	Ends
	tops         VecVirtual // 8000 in each word
	ones         VecVirtual // 1 in each word
	upper, lower VecVirtual // indices of the words of two registers of dwords
	code         VecVirtual // see [Kernel.SetIndex]
}

// Begin begins the kernel name for one target; it may have a result.
func Begin(name string, t Target, params, result, doc string, how ...string) *Kernel {
	Frame(name+t.Name+"AVX512", "func(dst *byte, src *byte"+params+")"+result, doc, how...)
	return New(t)
}

// New returns a kernel whose frame exists: it loads dst, src, and the constants for storing.
func New(t Target) *Kernel {
	z := &Kernel{Ends: Ends{Target: t, Line: 64}}
	z.Dst, z.Src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	if !z.Wide {
		z.tops, z.ones = All(0x80008000), All(0x00010001)
		z.upper = Load64(Words64(func(i int) int { return 2*i + 1 }))
		z.lower = Load64(Words64(func(i int) int { return 2 * i }))
	}
	return z
}

// Words reports whether numbers are looked up as words, that is, unless the target is F32.
func (z *Kernel) Words() bool { return z.Target != ToF32 }

// Put writes 32 numbers from two registers, which it overwrites. A NaN must be 7FC00000.
func (z *Kernel) Put(at int, a, b VecVirtual) {
	if !z.Wide {
		VMOVDQU16(z.nearest(a, b), z.To(at))
		return
	}
	for i, x := range [2]VecVirtual{a, b} {
		if z.Narrow {
			VCVTPS2PH(Imm(0), x, z.To(at+16*i))
		} else {
			VMOVUPS(x, z.To(at+16*i))
		}
	}
}

// nearest rounds 32 numbers to words, to nearest, ties to even: up if the part cut off is
// above one half, or is one half of an odd number's.
func (z *Kernel) nearest(a, b VecVirtual) VecVirtual {
	high := Into(ZMM(), VMOVDQA64, a)
	VPERMT2W(b, z.upper, high)
	VPERMT2W(b, z.lower, a)
	VPTERNLOGD(Imm(OrAnd), z.ones, high, a)     // a | high & 1
	up := Into(K(), VPCMPUW, Imm(6), z.tops, a) // greater
	VPADDW(z.ones, high, up, high)
	return high
}

// Quieted replaces every NaN by 7FC00000.
func Quieted(x VecVirtual) {
	k := Into(K(), VCMPPS, Imm(3), x, x)
	VPBROADCASTD(Dwords(0x7FC00000), k, x)
}

// All returns a dword in all lanes.
func All(v uint32) VecVirtual { return Into(ZMM(), VPBROADCASTD, Dwords(v)) }

// MaskOf returns a mask of constant bits.
func MaskOf(bits uint64) OpmaskVirtual { return Into(K(), KMOVQ, Into(GP64(), MOVQ, U64(bits))) }

// Load64 loads 64 bytes.
func Load64(m Mem) VecVirtual { return Into(ZMM(), VMOVDQU64, m) }

// DwordsOf returns sixteen dwords in a register.
func DwordsOf(of func(i int) int) VecVirtual { return Load64(Dwords64(of)) }

// Counted returns the sixteen values from first on.
func Counted(first int) VecVirtual {
	return DwordsOf(func(i int) int { return int(math.Float32bits(float32(first + i))) })
}

// Values returns sixteen values in a register.
func Values(v [16]float32) VecVirtual {
	return DwordsOf(func(i int) int { return int(math.Float32bits(v[i])) })
}

// Immediates of VPTERNLOG, of what it is given last to first.
const (
	AndOr  = 0xEA // a & b | c
	OrAnd  = 0xF8 // a | b & c
	Choose = 0xE2 // a where b is set, else c
)

// NotFinite is the classes of VFPCLASS for quiet NaN, both infinities, and signaling NaN.
const NotFinite = 0x01 | 0x18 | 0x80

// A Table is the rounded numbers of 16 or 32 codes in the target's form: 32 words (sixteen
// twice), or one or two registers of dwords.
type Table []VecVirtual

// Table16 rounds sixteen numbers in a register that it overwrites.
func (z *Kernel) Table16(x VecVirtual) Table {
	if z.Wide {
		if z.Narrow {
			VCVTPS2PH(Imm(0), x, x.AsY())
			VINSERTI64X4(Imm(1), x.AsY(), x, x)
		}
		return Table{x}
	}
	t := Load64(Words64(func(i int) int { return 2*(i%16) + 1 }))
	Rounded(x)
	VPERMW(x, t, t)
	return Table{t}
}

// Rounded rounds sixteen numbers to words, in the upper halves of dwords, with an addition
// that is larger by one for odd words.
func Rounded(x VecVirtual) {
	odd := Into(K(), VPTESTMD_BCST, Dwords(0x10000), x)
	VPADDD_BCST(Dwords(0x7FFF), x, x)
	VPADDD_BCST(Dwords(1), x, odd, x)
}

// Table32 rounds 32 numbers in registers that it overwrites.
func (z *Kernel) Table32(a, b VecVirtual) Table {
	if !z.Wide {
		return Table{z.nearest(a, b)}
	}
	if !z.Narrow {
		return Table{a, b}
	}
	VCVTPS2PH(Imm(0), a, a.AsY())
	VCVTPS2PH(Imm(0), b, b.AsY())
	VINSERTI64X4(Imm(1), b.AsY(), a, a)
	return Table{a}
}

// Lookup writes a table's numbers for 32 codes.
func (z *Kernel) Lookup(at int, c Codes, t Table) {
	for i, codes := range c {
		x := ZMM()
		switch {
		case z.Words():
			VPERMW(t[0], codes, x)
		case len(t) == 1:
			VPERMD(t[0], codes, x)
		default:
			VMOVDQA64(codes, x)
			VPERMI2D(t[1], t[0], x)
		}
		VMOVDQU64(x, z.To(at+16*i))
	}
}

// Single returns the float32 at m in all lanes.
func Single(m Mem) VecVirtual { return Into(ZMM(), VPBROADCASTD, m) }

// Half returns the float16 at m in all lanes.
func Half(m Mem) VecVirtual { return Into(ZMM(), VCVTPH2PS, Into(YMM(), VPBROADCASTW, m)) }

// Times converts sixteen small integers in dwords to floats and multiplies them by d.
func Times(x, d VecVirtual) {
	VCVTDQ2PS(x, x)
	VMULPS(d, x, x)
}

// A Scales is memory for sixteen float32.
type Scales struct{ At Mem }

// Keep stores them.
func Keep(z *Kernel, x VecVirtual) Scales {
	s := Scales{z.Local(64)}
	VMOVUPS(x, s.At)
	return s
}

// By returns x times scale i.
func (s Scales) By(x VecVirtual, i int) VecVirtual {
	return Into(ZMM(), VMULPS_BCST, s.At.Offset(4*i), x)
}

// Codes are 32 numbers of few bits: one register of words, or to F32 two of dwords. A lookup uses
// as many of their lower bits as the table has entries for, so bits above need no mask.
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
func Unsigned(m Mem) VecVirtual { return Into(ZMM(), VPMOVZXBD, m) }

func Signed(m Mem) VecVirtual { return Into(ZMM(), VPMOVSXBD, m) }

// ToFloats converts dwords to floats in place.
func ToFloats(x ...VecVirtual) {
	for _, x := range x {
		VCVTDQ2PS(x, x)
	}
}

// Moved returns the codes shifted down by n bits, or up.
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

// Lanes returns sixteen dwords made of bytes of src: byte at(i), with what is above it,
// shifted down by shift(i). Higher bits are undefined.
func Lanes(src VecVirtual, at, shift func(i int) int) VecVirtual {
	x := Into(ZMM(), VPERMB, src, Load64(Bytes64(func(i int) int { return at(i/4) + i%4 })))
	VPSRLVD(Dwords64(shift), x, x)
	return x
}

// Sixteen loads 16 bytes, followed by zeros.
func Sixteen(m Mem) VecVirtual {
	x := ZMM()
	VMOVDQU32(m, x.AsX())
	return x
}

// A table of 32 words is looked up by its bytes: VPERMB is an instruction of one
// port where VPERMW takes two. An index is a word whose bytes have the code from
// bit 1 on, and in bit 0 which byte of the number they are for.

// SetIndex loads the mask of four bits from bit 1 on.
func (z *Kernel) SetIndex() {
	if z.Words() {
		z.code = All(0x1E1E1E1E)
	}
}

// Index converts codes of four bits to indices in place: of the first sixteen numbers of a
// table, or of the second.
func (z *Kernel) Index(x VecVirtual, second int) VecVirtual {
	VPTERNLOGD_BCST(Imm(AndOr), Dwords(0x01000100|uint32(second)*0x20202020), z.code, x)
	return x
}

// Placed writes a table's numbers for 32 indices.
func (z *Kernel) Placed(at int, index VecVirtual, t Table) {
	x := Into(ZMM(), VPERMB, t[0], index)
	VMOVDQU64(x, z.To(at))
}

// Couple writes 32 codes under one table of sixteen and 32 under another, and rounds both
// tables at once.
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

// NibblesOf returns 32 codes of 16 bytes: the low nibbles, then the high ones. In words
// they begin at bit 1 of both bytes.
func (z *Kernel) NibblesOf(off int) Codes {
	if !z.Words() {
		x, at := Sixteen(z.From(off)), func(i int) int { return i }
		return Codes{Lanes(x, at, func(int) int { return 0 }), Lanes(x, at, func(int) int { return 4 })}
	}
	x := Into(ZMM(), VPERMB, Sixteen(z.From(off)), Load64(Bytes64(func(i int) int { return i / 2 % 16 })))
	VPROLVD(Dwords64(func(i int) int { return [2]int{1, 32 - 3}[i/8] }), x, x)
	return Codes{x}
}

// NibblePair returns the low nibbles of 32 bytes, and the high ones, each as NibblesOf does.
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

// Repeated returns 32 bytes, each in both bytes of a word.
func Repeated(m Mem) VecVirtual {
	x := ZMM()
	VMOVDQU32(m, x.AsY())
	VPERMB(x, Load64(Bytes64(func(i int) int { return i / 2 })), x)
	return x
}
