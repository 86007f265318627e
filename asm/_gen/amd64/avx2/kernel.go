// Package avx2 is the kernels of registers of 32 bytes, a file for each technique. What
// several have in common is in kernel.go (numbers rounded and written), lookup.go (tables),
// blocks.go (the loops over blocks and their groups), runs.go (those over runs) and exact.go
// (scales that models do not have).
package avx2

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/encode"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Kernels writes all kernels.
func Kernels() {
	limitKernel()
	for _, l := range Layouts() {
		for _, t := range Targets {
			blockKernel(l, newKernel(t, l.stops != nil && !t.Wide))
		}
	}
	castKernels()
	codebookKernels()
	for t := range Targets {
		for _, o := range append(Joins, JoinTwice) {
			bytesKernel(o, t)
		}
		pairKernel(t)
		for _, f := range float8s {
			f.kernel(t)
		}
	}
	transposeKernels()
	lanesKernel()
	spreadKernel()
	fieldsKernel()
	pickKernel()
	swapKernel()
	columnsKernels()
	eachKernels()
	expandKernels()
	encode.Kernels(Narrow)
	specialKernels()
}

// rounds writes a kernel's only loop, up to its end; a pass advances by so many bytes.
func rounds(n, src Register, in Op, dst Register, out Op, body func()) {
	Repeat("more", n, func() {
		body()
		ADDQ(in, src)
		ADDQ(out, dst)
	})
	End()
}

// Order of codes. A register of 32 codes holds quads of eight elements in the
// order 0, 2 | 1, 3, so that the unpacking instructions, which work within the
// two halves, give the elements in their order. (The immediate of VPERMQ.)
const quads = 0xD8

// Where words are unpacked once more, to dwords, fours of elements lie in the
// order 0, 2, 4, 6 | 1, 3, 5, 7.
func fours() VecVirtual { return Load32(Dwords(0, 2, 4, 6, 1, 3, 5, 7)) }

// A kernel writes one target from blocks or chunks of codes.
type kernel struct {
	Ends
	codebook values     // in memory, where it is none either
	add      VecVirtual // rounding to BF16, of even numbers; may also change the sign
	up       Op         // and of odd ones
	round    uint32     // the value of add
	minus    Op         // minus zero
	ordinary bool       // the kernel stops before scales that are not ordinary
	spill    Mem        // 32 codes on their way to dwords
	shared   map[string]VecVirtual
}

// newKernel is a kernel before its frame; ordinary says that it stops in front of scales that
// are not.
func newKernel(t Target, ordinary bool) *kernel {
	return &kernel{Ends: Ends{Target: t, Line: 32}, ordinary: ordinary, shared: map[string]VecVirtual{}}
}

// spreadQuads loads 32 codes in the order of [quads]. The same in one
// instruction takes twice as long on Zen 3.
func (k *kernel) spreadQuads(m Mem, y VecVirtual) {
	VMOVDQU(m, y)
	VPERMQ(Imm(quads), y, y)
}

// storeHalves writes eight numbers as float16, in two steps for the same reason.
func storeHalves(y VecVirtual, m Mem) {
	x := Into(XMM(), VCVTPS2PH, Imm(0), y)
	VMOVDQU(x, m)
}

// store8 writes eight numbers.
func (k *kernel) store8(x VecVirtual, at int) {
	if k.Narrow {
		storeHalves(x, k.To(at))
	} else {
		VMOVUPS(x, k.To(at))
	}
}

// Scales are kept negative and a NaN among them as FFC00000. A product of a negated scale has the
// other sign, and every NaN of it, also that of infinity times zero, is FFC00000 on this processor.
// Adding 80007FFF in place of 7FFF then rounds, and changes the sign of numbers and NaN alike.
const (
	roundNegated = 0x80007FFF
	roundPlain   = 0x00007FFF
)

func (k *kernel) begin(negated bool) {
	k.minus = Dwords(0x80000000)
	if k.Wide {
		k.Align()
		k.spill = k.Local(32)
		return
	}
	k.round = roundPlain
	if negated {
		k.round = roundNegated
	}
	k.add, k.up = Load32(Dwords(k.round)), Load32(Dwords(k.round+1))
}

// negated changes the sign of scales that come of a float16 and makes every NaN FFC00000. For BF16
// it divides by 256 too, exactly: codes are widened to words as their upper bytes.
func (k *kernel) negated(s VecVirtual) {
	if k.Wide {
		VMULPS(Floats(-1), s, s)
	} else {
		VMULPS(Floats(-1.0/256), s, s)
	}
	canonical(s)
}

// flipSign changes the sign of scales and makes every NaN FFC00000.
func flipSign(s VecVirtual) {
	VXORPS(Dwords(0x80000000), s, s)
	canonical(s)
}

// quieted makes every NaN 7FC00000.
func quieted(s VecVirtual) {
	nan := Into(YMM(), VCMPPS, Imm(3), s, s)
	VBLENDVPS(nan, Dwords(0x7FC00000), s, s)
}

// nearest adds what rounds x in its upper half, ties to even: the lowest bit of
// that half, moved to the sign, says which of two numbers.
func (k *kernel) nearest(x VecVirtual) {
	odd := Into(YMM(), VPSLLD, Imm(15), x)
	VBLENDVPS(odd, k.up, k.add, odd)
	VPADDD(odd, x, x)
}

// toWord is nearest, or rounded.
func (k *kernel) toWord(x VecVirtual) {
	if k.ordinary {
		rounded(x)
	} else {
		k.nearest(x)
	}
}

// settle negates numbers that stay float32, or makes every NaN among them 7FC00000.
func (k *kernel) settle(x VecVirtual, negated bool) {
	if negated {
		VXORPS(k.minus, x, x)
	} else {
		quieted(x)
	}
}

// pack joins the upper halves of the even and the odd elements.
func pack(even, odd VecVirtual) VecVirtual {
	VPSRLD(Imm(16), even, even)
	VPBLENDW(Imm(0xAA), odd, even, even)
	return even
}

// numbers writes 32 elements. The codes are bytes, signed or not; join makes a
// number of a code and is told which sixteen it belongs to. Negated numbers have
// the other sign. Signed codes to BF16 come as 256 times what they are.
func (k *kernel) numbers(at int, codes VecVirtual, signed, negated bool, join func(half int, x VecVirtual)) {
	if k.Wide {
		VMOVDQU(codes, k.spill)
		for i := range 4 {
			x := YMM()
			if signed {
				VPMOVSXBD(k.spill.Offset(quadAt[i]), x)
			} else {
				VPMOVZXBD(k.spill.Offset(quadAt[i]), x)
			}
			VCVTDQ2PS(x, x)
			join(i/2, x)
			k.settle(x, negated)
			k.store8(x, at+8*i)
		}
		return
	}
	for i := range 2 {
		zero, w := YMM(), YMM()
		VPXOR(zero, zero, zero)
		if signed {
			unpackBytes[i](codes, zero, w)
		} else {
			unpackBytes[i](zero, codes, w)
		}
		even, odd := k.halvesOf(w)
		k.sixteen(at+16*i, even, odd, negated, func(x VecVirtual) { join(i, x) })
	}
}

// sixteen writes sixteen numbers of codes as words.
func (k *kernel) sixteen(at int, even, odd VecVirtual, negated bool, join func(x VecVirtual)) {
	for _, x := range [2]VecVirtual{even, odd} {
		VCVTDQ2PS(x, x)
		join(x)
		k.toWord(x)
	}
	VMOVDQU(k.packed(even, odd, negated), k.To(at))
}

// packed is pack where numbers may be negated, or there are no even or no odd ones.
func (k *kernel) packed(even, odd VecVirtual, negated bool) VecVirtual {
	w := odd
	if odd == nil {
		w = Into(even, VPSRLD, Imm(16), even)
	} else if even != nil {
		w = pack(even, odd)
	}
	if !negated {
		k.unsigned(w)
	}
	return w
}

// unpackBytes interleaves the bytes of the lower and of the upper halves of registers.
var unpackBytes = [2]func(...Op){VPUNPCKLBW, VPUNPCKHBW}

// halvesOf widens the even and the odd of sixteen words: multiplied by one and
// by zero and added, which keeps the ports of shifts free.
func (k *kernel) halvesOf(w VecVirtual) (even, odd VecVirtual) {
	even, odd = YMM(), YMM()
	VPMADDWD(k.constant(Words(1, 0)), w, even)
	VPMADDWD(k.constant(Words(0, 1)), w, odd)
	return even, odd
}

// bytes writes 32 elements of bytes in memory, signed or not.
func (k *kernel) bytes(at int, codes Mem, flip VecVirtual, signed, negated bool, join func(x VecVirtual)) {
	toWords, toDwords := VPMOVSXBW, VPMOVSXBD
	if !signed {
		toWords, toDwords = VPMOVZXBW, VPMOVZXBD
	}
	var halves [2][2]VecVirtual
	for i := 0; i < 32 && !k.Wide; i += 16 { // both are read first
		w := YMM()
		toWords(codes.Offset(i), w)
		if flip != nil {
			VPXOR(flip, w, w)
		}
		halves[i/16][0], halves[i/16][1] = k.halvesOf(w)
	}
	for i := 0; i < 32; i += 16 {
		if k.Wide {
			for j := i; j < i+16; j += 8 {
				x := YMM()
				toDwords(codes.Offset(j), x)
				if flip != nil {
					VPXOR(flip, x, x)
				}
				VCVTDQ2PS(x, x)
				join(x)
				k.settle(x, negated)
				k.store8(x, at+j)
			}
			continue
		}
		k.sixteen(at+i, halves[i/16][0], halves[i/16][1], negated, join)
	}
}

// scaled writes 32 elements: signed codes times a negated scale; the scales of
// the first and the second sixteen may differ.
func (k *kernel) scaled(at int, codes, first, second VecVirtual) {
	k.numbers(at, codes, true, true, func(half int, x VecVirtual) {
		VMULPS([2]VecVirtual{first, second}[half], x, x)
	})
}

// A pair is the scale and the zero point or minimum of sixteen elements.
type pair struct{ d, m VecVirtual }

// affine writes 32 elements of unsigned codes: q*d - m, or q*d + m. The numbers
// are as they are, a NaN among them 7FC00000.
func (k *kernel) affine(at int, codes VecVirtual, first, second pair, plus bool) {
	k.numbers(at, codes, false, false, func(half int, x VecVirtual) {
		p := [2]pair{first, second}[half]
		p.join(x, plus)
	})
}

// join multiplies and adds in one step: the products are exact.
func (p pair) join(x VecVirtual, plus bool) {
	if plus {
		VFMADD213PS(p.m, p.d, x)
	} else {
		VFMSUB213PS(p.m, p.d, x)
	}
}

// quadAt is where the i-th eight codes lie in a register.
var quadAt = [4]int{0, 16, 8, 24}

// unsigned takes the sign off words that are NaN, if there can be one: all of them are 7FC0
// or FFC0.
func (k *kernel) unsigned(w VecVirtual) {
	if k.ordinary {
		return
	}
	nan := Into(YMM(), VPCMPEQW, Words(0xFFC0), w)
	VPSLLW(Imm(15), nan, nan)
	VPXOR(nan, w, w)
}

// declare sets constants before the loop.
func (k *kernel) declare(name string, set func(VecVirtual)) {
	y := YMM()
	set(y)
	k.shared[name] = y
}

// holding sets constants into registers before the loop: where loads of them bound a kernel.
func holding(constants func() []Mem) func(*kernel) {
	return func(k *kernel) {
		for _, m := range constants() {
			if k.shared[m.Symbol.Name] == nil {
				k.declare(m.Symbol.Name, func(y VecVirtual) { VMOVDQU(m, y) })
			}
		}
	}
}

// toWords is what codes are widened by, to BF16.
func toWords() []Mem { return []Mem{Words(1, 0), Words(0, 1)} }

// constant is a register that holds a constant, or its memory.
func (k *kernel) constant(m Mem) Op {
	if y := k.shared[m.Symbol.Name]; y != nil {
		return y
	}
	return m
}

// ifBelow leaves where the number at m is above zero and at most as many bits as that.
func ifBelow(m Mem, most Op, to Place) {
	bits := Into(GP32(), MOVL, m)
	and32(bits, 0x7FFFFFFF)
	DECL(bits) // zero makes no stalls
	CMPL(bits, most)
	JCS(to.Ref())
}
