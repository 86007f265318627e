package main

import (
	"bytes"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A small is a run to BF16 whose products may be subnormal. Of two numbers of 16
// bits the larger one is the product's bits.
//
// One is what a table by mantissa and an addition make of a scale that is 2^64
// times as large, less 2^64: right where the product is normal. Below that it
// counts less units than there are, or is negative. Codes of exponent 0 have one
// product each, so that for them the table is right everywhere.
//
// The other counts units of subnormal numbers, 2^-133: a number of 15 bits by
// mantissa, the product's, is shifted down by a depth that the exponent says and
// rounded, ties up. It is zero where the depth is below 7, where all products are
// normal, and above 15, where all are less than half a unit; and anything up to 255
// where the depth is below 0 and the other number is above that.
//
// But the product is rounded twice, ties to even: to float32, whose units are 2^16
// times finer, and to BF16. That differs where a product is so near to the middle of
// two units that the first rounding makes it that. The bits below the middle's one
// are then all alike, so that it occurs at one depth, which the lowest bit of the
// middle tells: see [small.counted].
type small struct {
	f        float8
	words    looked     // twice the first number, of all mantissas, so that the upper byte is an exponent
	counts   looked     // the second one's 15 bits
	powers   VecVirtual // 2^(15-depth), of depths from 15 down
	zero     Op         // a register where there is one left
	turn     VecVirtual // the scale's sign
	codes    VecVirtual // of the chunk that comes
	last     Register   // chunk of all runs
	times    Mem        // the scale of the run that comes, 2^64 times as large
	products Mem        // of its 24 bits and the mantissas
}

// smallRuns is runs under such scales. What a code goes through takes long, one step
// after the other, and so does what tables are made of; and the processor looks no
// further ahead than two chunks. So codes are read a chunk ahead, and the first steps of
// a table are taken a run ahead.
func (f float8) smallRuns(k *runs) {
	s := &small{f: f, powers: YMM(), zero: dwords(0), codes: YMM(), last: GP64(), times: AllocLocal(32), products: AllocLocal(32)}
	Load(Param("chunks"), s.last)
	IMULQ(k.n, s.last)
	SHLQ(Imm(5), s.last)
	LEAQ(Mem{Base: k.src, Index: s.last, Scale: 1, Disp: -32}, s.last)
	k.spreadQuads(k.from(0), s.codes)
	s.enlarge(k.a)
	next := GP64()
	Label("again")
	times, products := load(s.times), load(s.products)
	LEAQ(Mem{Base: k.a, Disp: 4}, next)
	CMPQ(k.n, Imm(1))
	CMOVQEQ(k.a, next)
	s.enlarge(next)
	s.words = s.worded(times)
	s.counts = s.counted(products)
	s.begin(k)
	Label("tiny")
	s.write(k)
	k.again("tiny")
	ADDQ(Imm(4), k.a)
	DECQ(k.n)
	JZ(LabelRef("end"))
	Load(Param("chunks"), k.chunks)
	bits := GP32()
	MOVL(Mem{Base: k.a}, bits)
	and32(bits, 0x7FFFFFFF)
	DECL(bits)
	CMPL(bits, U32(f.least<<23-1))
	JCS(LabelRef("again"))
	JMP(LabelRef("run"))
}

// begin brings into registers what all chunks of a run need.
func (s *small) begin(k *runs) {
	if s.f.infinite {
		zero := YMM()
		VPXOR(zero, zero, zero)
		s.zero = zero
	}
	VMOVDQU(bytes32(1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0), s.powers)
	s.turn = k.turnOf()
}

// enlarge takes the first steps of the tables of a run: a scale that is 2^64 times as
// large, without its sign, and the products of its bits and the mantissas.
func (s *small) enlarge(scale Register) {
	times := YMM()
	VBROADCASTSS(Mem{Base: scale}, times)
	VANDPS(dwords(0x7FFFFFFF), times, times)
	shiftMagnitude(times, smallShift)
	VMOVDQU(times, s.times)
	step := uint32(1) << s.f.man
	var mantissas []uint32
	for i := range uint32(8) {
		mantissas = append(mantissas, (step+i%step)<<(6-s.f.man))
	}
	VPAND(dwords(0x007FFFFF), times, times)
	VPOR(dwords(0x00800000), times, times)
	VPMULLD(dwords(mantissas...), times, times)
	VMOVDQU(times, s.products)
}

// worded is the words of the first sixteen codes. Those of exponent 0 are among the
// first eight.
func (s *small) worded(times VecVirtual) looked {
	f := s.f
	var halves, units [8]float32
	var first [16]float32
	for i := range first {
		first[i] = f.number(i)
		if i < 1<<f.man {
			halves[i], units[i] = first[i]/2, math.Float32frombits(littleBits)
		}
	}
	x := [2]VecVirtual{load(floats(halves[:]...)), YMM()}
	VFMADD213PS(floats(units[:]...), times, x[0])
	for i := range x {
		p, less := YMM(), YMM()
		VMULPS(floats(first[8*i:8*i+8]...), times, p)
		if i == 0 {
			VPMAXUD(p, x[0], p)
		}
		// The number times 65536, less the same times 65535, is rounded.
		VMULPS(floats(65535), p, less)
		VFMSUB132PS(floats(65536), less, p)
		VPSRLD(Imm(15), p, x[i])
	}
	w := x[0]
	VPACKUSDW(x[1], w, w) // fours of the first eight and of the others
	VPSUBW(dwords(littleBits>>15*0x10001), w, w)
	if f.infinite {
		VPBLENDW(Imm(0xF0), f.beyond(), w, w)
	}
	VPSHUFB(bytes32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15), w, w)
	l := looked{load(dwords(0, 4, 1, 5)), load(dwords(2, 6, 3, 7))}
	for _, y := range l {
		VPERMD(w, y, y)
	}
	return l
}

// counted makes 15 bits of the product of each mantissa m and the 24 bits of the
// scale: it is of 31 bits here, of which those above the lowest are kept. How far the
// first rounding moves numbers to a multiple of a power of two, that is half a unit
// of 2^16 parts, is added where the bit above is set and the tie goes up, and is
// taken off, and one more, where not. So what is near enough to the multiple becomes
// it, or one less; others do not change.
func (s *small) counted(q VecVirtual) (counts looked) {
	step := 1 << s.f.man
	whole, lowest, clear, below, zero := YMM(), YMM(), YMM(), YMM(), YMM()
	VPXOR(zero, zero, zero)
	VPADDD(dwords(1<<15), q, whole)
	VPSRLD(Imm(16), whole, whole)
	VPSUBD(whole, zero, lowest)
	VPAND(whole, lowest, lowest)
	VPADDD(lowest, lowest, clear)
	VPAND(whole, clear, clear)
	VPCMPEQD(zero, clear, clear)
	VPXOR(clear, lowest, lowest)
	// Those of which the first number, rounded twice, says that they are below two count
	// twice as many: the place of their power is one further down.
	VPCMPGTD(dwords(1<<30-1<<21-1<<5-1), q, below)
	VPADDD(lowest, q, q)
	VPANDN(q, below, below)
	VPADDD(below, q, q)
	// The low bytes of four counts, then their high bytes; and those of all eight.
	VPSHUFB(bytes32(2, 6, 10, 14, 3, 7, 11, 15, 2, 6, 10, 14, 3, 7, 11, 15), q, q)
	if step == 8 { // of four mantissas both halves have all
		VPERMQ(Imm(0x88), q, q)
	}
	for b := range byte(2) {
		order := bytes.Repeat([]byte{0x80}, 16)
		for i := range byte(step) {
			order[byte(step)+i] = i%4 + i/4*8 + 4*b
		}
		part := YMM()
		VPSHUFB(bytes32(order...), q, part)
		counts = append(counts, part)
	}
	return counts
}

// beyond is twice, less what the exponent adds, what infinity and the three NaN are
// without the highest bit of their exponents. They come behind the mantissas, where the
// codes from eight on are.
func (f float8) beyond() Mem {
	w := make([]uint16, 16)
	exponent := uint16(29) << 8
	for i := range w {
		w[i] = 0x7F80 - exponent
	}
	w[4] = 0x7F00 - exponent
	return words(w...)
}

// write writes 32 elements.
func (s *small) write(k *runs) {
	f, step := s.f, byte(1)<<s.f.man
	codes, mag, high, next := YMM(), YMM(), YMM(), GP64()
	VMOVDQA(s.codes, codes)
	LEAQ(k.from(32), next)
	CMPQ(k.src, s.last)
	CMOVQEQ(k.src, next)
	k.spreadQuads(Mem{Base: next}, s.codes)
	VPAND(bytes32(0x7F), codes, mag)
	VPXOR(s.turn, codes, high)
	VPAND(bytes32(0x80), high, high)
	exp, index, place, low := YMM(), YMM(), YMM(), s.zero
	VPSUBUSB(bytes32(step), mag, exp)
	VPAND(bytes32(0x80-step), exp, exp)
	if f.infinite {
		nan, beyond := YMM(), YMM()
		VPMINUB(bytes32(0x74), exp, exp)
		VPCMPGTB(bytes32(0x7C), mag, nan)
		VPANDN(high, nan, high)
		VPCMPGTB(bytes32(0x7B), mag, beyond)
		VPAND(bytes32(0x40), beyond, beyond)
		VPOR(beyond, high, high)
	}
	VPSUBB(exp, mag, index)
	if !f.infinite {
		low = s.notNumbers(codes, mag, index, high)
	}
	VPSRLW(Imm(uint64(f.man)), exp, exp)
	find := func(table, at VecVirtual) VecVirtual {
		found := YMM()
		VPSHUFB(at, table, found)
		return found
	}
	words := looked{find(s.words[0], index), find(s.words[1], index)}
	VPADDB(exp, words[1], words[1])
	VPADDB(bytes32(7), words[1], place)
	counts := looked{find(s.counts[0], index), find(s.counts[1], index)}
	power := find(s.powers, place)
	for i, join := range []func(...Op){VPUNPCKLBW, VPUNPCKHBW} {
		w, n, p, o := YMM(), YMM(), YMM(), YMM()
		join(counts[1], counts[0], n)
		join(s.zero, power, p)
		VPMULHRSW(p, n, n)
		join(words[1], words[0], w)
		VPSRAW(Imm(1), w, w)
		VPMAXSW(n, w, w)
		join(high, low, o)
		VPOR(o, w, w)
		VMOVDQU(w, k.to(16*i))
	}
}

// notNumbers makes the upper bytes of NaN, and is their lower bytes. What is found
// for them must have no other bits: the exponent has none.
func (s *small) notNumbers(codes, mag, index, high VecVirtual) VecVirtual {
	nan, low := YMM(), YMM()
	if s.f.signedNaN() { // the index is that of zero
		VPCMPEQB(bytes32(0x80), codes, nan)
	} else {
		VPCMPEQB(bytes32(0x7F), mag, nan)
		VPOR(nan, index, index)
	}
	VPAND(bytes32(0xC0), nan, low)
	VPBLENDVB(nan, bytes32(0x7F), high, high)
	return low
}
