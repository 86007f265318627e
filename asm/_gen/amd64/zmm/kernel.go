// Package zmm is what kernels have in common whose registers have 64 bytes: AVX-512
// with F, BW, VL, DQ and VBMI. They take 32 elements a step, as two registers of
// float32, or as one of words.
//
// A [Kernel] knows its target and where it reads and writes. A [Table] is what few
// codes come to, rounded once for many elements ([Kernel.Table16], [Kernel.Lookup]). No body
// of a kernel makes a NaN, so that nothing is tested while it is written.
package zmm

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A Kernel writes one target.
type Kernel struct {
	Target
	Dst, Src     Register
	tops         VecVirtual // 8000 in each word
	ones         VecVirtual // 1 in each word
	upper, lower VecVirtual // where the words of two registers of dwords lie
	code         VecVirtual // see [Kernel.SetIndex]
	frame        Register   // its local memory, at a multiple of 64
}

// Begin begins the kernel name for one target, which may return something: it loads dst, src,
// and what storing needs.
func Begin(name string, t Target, params, result, doc string, how ...string) *Kernel {
	z := &Kernel{Target: t}
	Frame(name+t.Name+"AVX512", "func(dst *byte, src *byte"+params+")"+result, doc, how...)
	z.Dst, z.Src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	if !z.Wide {
		z.tops, z.ones = All(0x80008000), All(0x00010001)
		z.upper = Load64(Words64(func(i int) int { return 2*i + 1 }))
		z.lower = Load64(Words64(func(i int) int { return 2 * i }))
	}
	return z
}

// Words is whether numbers are looked up as words: they are but to F32.
func (z *Kernel) Words() bool { return z.Target != ToF32 }

// From is the source's byte at off.
func (z *Kernel) From(off int) Mem { return Mem{Base: z.Src, Disp: off} }

// To is where an element is written.
func (z *Kernel) To(elem int) Mem { return Mem{Base: z.Dst, Disp: elem * z.Width()} }

// Advance moves on by so many bytes of codes and so many numbers. Lines
// to write to are asked for ahead: stores wait in order.
func (z *Kernel) Advance(in, elems int) {
	for at := 0; at < elems*z.Width(); at += 64 {
		PREFETCHT0(Mem{Base: z.Dst, Disp: at + 1024})
	}
	if in > 0 {
		ADDQ(U32(in), z.Src)
	}
	ADDQ(U32(elems*z.Width()), z.Dst)
}

// Align gives a kernel its local memory.
func (z *Kernel) Align() {
	z.frame = Into(GP64(), LEAQ, AllocLocal(64).Offset(63))
	ANDQ(I8(-64), z.frame)
}

// Room is local memory of n bytes, at a multiple of 64: what crosses lines of the
// cache takes longer to write and to read again.
func (z *Kernel) Room(n int) Mem {
	return Mem{Base: z.frame, Disp: AllocLocal((n+63)&^63).Disp - 64}
}

// Put writes 32 numbers, sixteen and sixteen, which it destroys. A NaN must be 7FC00000.
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

// nearest rounds 32 numbers to words, to nearest and ties to even: up where what is cut off is above
// one half, or is one half below an odd number.
func (z *Kernel) nearest(a, b VecVirtual) VecVirtual {
	high := Into(ZMM(), VMOVDQA64, a)
	VPERMT2W(b, z.upper, high)
	VPERMT2W(b, z.lower, a)
	VPTERNLOGD(Imm(OrAnd), z.ones, high, a)     // a | high & 1
	up := Into(K(), VPCMPUW, Imm(6), z.tops, a) // greater
	VPADDW(z.ones, high, up, high)
	return high
}

// RoundPlain rounds to words as integers: this much is added, and one more where the
// upper word is odd.
const RoundPlain = 0x7FFF

// Quieted makes every NaN 7FC00000.
func Quieted(x VecVirtual) {
	k := Into(K(), VCMPPS, Imm(3), x, x)
	VPBROADCASTD(Dwords(0x7FC00000), k, x)
}
