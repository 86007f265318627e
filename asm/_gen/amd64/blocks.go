package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// A layout is one block type, or those that a kernel is told apart: how many
// elements and bytes a block has, what must be set before the loop, and what is
// done for each block.
type layout struct {
	name  string
	takes string   // a parameter before the count
	to    []target // nil for all
	elems int
	bytes int  // 0 where the kernel is told
	plain bool // affine: rounding must not turn signs
	set   func(*kernel)
	block func(*kernel)
	two   *two
	odd   func(*kernel) // jumps to "odd", to BF16, unless the block's scales are ordinary
}

func blockKernels() {
	for _, l := range layouts() {
		if l.to == nil {
			l.to = targets
		}
		for _, t := range l.to {
			blockKernel(l, t.name, &kernel{wide: t.wide, narrow: t.narrow, shared: map[string]VecVirtual{}})
		}
	}
}

func layouts() []layout {
	return []layout{
		{name: "q8", takes: ", size int", elems: 32, set: holding(toWords), block: q8},
		{name: "q8_K", elems: 256, bytes: 292, set: holding(toWords), block: q8K},
		{name: "booked", takes: ", book *int8", to: []target{toF32, toF16}, elems: 32, bytes: 18, set: keepBook, block: booked},
		{name: "q4_0", to: []target{toBF16}, elems: 32, bytes: 18, set: setNibbles, block: lookedBlock(minus8Values), two: twoQ40},
		{name: "q4_1", elems: 32, bytes: 20, plain: true, set: setNibbles, block: q4_1, two: twoQ41},
		{name: "q5_0", elems: 32, bytes: 22, set: setFives, block: q5_0},
		{name: "q5_1", elems: 32, bytes: 24, plain: true, set: setFives, block: q5_1, odd: halvesOddAt(0)},
		{name: "q2_K", elems: 256, bytes: 84, plain: true, set: setNibbles, block: q2K},
		{name: "q3_K", elems: 256, bytes: 110, block: q3K},
		{name: "q4_K", elems: 256, bytes: 144, plain: true, set: setNibbles, block: q45K(false), odd: signsOdd(0)},
		{name: "q5_K", elems: 256, bytes: 176, plain: true, set: setFives, block: q45K(true), odd: signsOdd(0)},
		{name: "q6_K", elems: 256, bytes: 210, set: holding(ofSixes), block: q6K},
		{name: "iq4_NL", to: []target{toBF16}, elems: 32, bytes: 18, set: setNibbles, block: lookedBlock(iq4Values), two: twoLooked(iq4Values)},
		{name: "iq4_XS", elems: 256, bytes: 136, set: setNibbles, block: iq4XS, odd: finite(0)},
		{name: "mxfp4", elems: 32, bytes: 17, set: setNibbles, block: mxfp4},
		{name: "nvfp4", elems: 64, bytes: 36, set: setNibbles, block: nvfp4},
		{name: "tq1_0", elems: 256, bytes: 54, block: tq1},
		{name: "tq2_0", elems: 256, bytes: 66, block: tq2},
		{name: "q1_0", elems: 128, bytes: 18, set: holding(ofBits), block: q1},
		{name: "q2_0", elems: 64, bytes: 18, block: q2},
		{name: "iq1_S", elems: 256, bytes: 50, block: iq1S},
		{name: "iq1_M", elems: 256, bytes: 56, block: iq1M},
		{name: "iq2_XXS", elems: 256, bytes: 66, set: holding(ofBits), block: iq2XXS},
		{name: "iq2_XS", elems: 256, bytes: 74, set: holding(ofBits), block: iq2XS},
		{name: "iq2_S", elems: 256, bytes: 82, set: holding(ofBits), block: iq2S},
		{name: "iq3_XXS", elems: 256, bytes: 98, set: holding(ofBits), block: iq3XXS},
		{name: "iq3_S", elems: 256, bytes: 110, set: holding(ofBits), block: iq3S},
	}
}

func blockKernel(l layout, target string, k *kernel) {
	name := l.name + target + "AVX2"
	function(name, "func(dst *byte, src *byte"+l.takes+", n int)", "decodes n blocks.")
	k.dst, k.src = Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	step, n := Op(U32(l.bytes)), Load(Param("n"), GP64())
	if l.bytes == 0 {
		k.size = Load(Param("size"), GP64())
		step = k.size
	}
	if l.plain && !k.wide && l.two == nil {
		k.laterSigns(l.elems)
	}
	k.align()
	k.begin(!l.plain)
	if l.set != nil {
		l.set(k)
	}
	rare := func() {}
	if l.two != nil && !k.wide {
		rare = l.two.loop(k, l, n)
	}
	Label("block")
	if l.odd != nil && !k.wide {
		l.odd(k)
		k.ordinary = true
	}
	l.block(k)
	Label("next")
	ADDQ(step, k.src)
	ADDQ(U32(l.elems*k.width()), k.dst)
	k.unsignWritten("block", 1, n)
	DECQ(n)
	JNZ(LabelRef("block"))
	Label("done")
	k.unsignWritten("done", 1, nil)
	end()
	if k.ordinary {
		k.ordinary = false
		Label("odd")
		l.block(k)
		JMP(LabelRef("next"))
	}
	rare()
}

// half is the float16 at off in all lanes.
func (k *kernel) half(off int) VecVirtual {
	x, y := XMM(), YMM()
	VPBROADCASTW(k.from(off), x)
	VCVTPH2PS(x, y)
	return y
}

// q8 is a float16 at the front of a block and 32 signed bytes at its end.
func q8(k *kernel) {
	d := k.half(0)
	turned(d)
	k.signedBytes(0, Mem{Base: k.src, Index: k.size, Scale: 1, Disp: -32}, d)
}

func q8K(k *kernel) {
	d := YMM()
	VBROADCASTSS(k.from(0), d)
	turned(d)
	for at := 0; at < 256; at += 32 {
		k.signedBytes(at, k.from(4+at), d)
	}
}

// signedBytes is 32 signed bytes under a turned scale.
func (k *kernel) signedBytes(at int, codes Mem, d VecVirtual) {
	k.bytes(at, codes, nil, true, func(x VecVirtual) { VMULPS(d, x, x) })
}

// setNibbles keeps what nibbles needs.
func setNibbles(k *kernel) {
	k.declare("low", func(y VecVirtual) { VMOVDQU(bytes32(0x0F), y) })
}

// setFives keeps what codes of five bits need.
func setFives(k *kernel) {
	setNibbles(k)
	holding(ofBits)(k)
	if !k.wide {
		holding(toWords)(k)
	}
}

// nibbles spreads 16 bytes: the low nibbles are elements 0-15, the high ones
// 16-31.
func (k *kernel) nibbles(off int) VecVirtual {
	y, other := YMM(), YMM()
	VPBROADCASTQ(k.from(off), y)
	VPBROADCASTQ(k.from(off+8), other)
	VPBLENDD(Imm(0xF0), other, y, y)
	VPSRLVQ(qwords(0, 4), y, y)
	VPAND(k.shared["low"], y, y)
	return y
}

var (
	counted      = [16]float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	minus8Values = [16]float32{-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}
	iq4Values    = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
)

// lookedBlock is 32 nibbles under a float16.
func lookedBlock(v [16]float32) func(*kernel) {
	return func(k *kernel) {
		d := k.half(0)
		canonical(d)
		k.lookup(0, k.nibbles(2), k.by(k.constants(v, true), d))
	}
}

// keepBook keeps the sixteen signed bytes of a book; where tables are made of them
// as numbers, turned.
func keepBook(k *kernel) {
	setNibbles(k)
	book := Mem{Base: Load(Param("book"), GP64())}
	if k.float32() {
		k.declare("book", func(y VecVirtual) { VBROADCASTI128(book, y) })
		return
	}
	k.book = values{k.local(32), k.local(32)}
	for i, m := range [2]Mem{k.book.a, k.book.b} {
		y := YMM()
		VPMOVSXBD(book.Offset(8*i), y)
		VCVTDQ2PS(y, y)
		VXORPS(k.minus, y, y)
		VMOVUPS(y, m)
	}
}

// booked is 32 nibbles, places in a book, under a float16: Q4_0 and IQ4_NL.
func booked(k *kernel) {
	d := k.half(0)
	if !k.float32() {
		canonical(d)
		k.lookup(0, k.nibbles(2), k.by(k.book, d))
		return
	}
	turned(d)
	codes := k.nibbles(2)
	VPSHUFB(codes, k.shared["book"], codes)
	k.scaled(0, codes, d, d)
}

func q4_1(k *kernel) {
	p := k.halves(0)
	if k.float32() {
		k.affine(0, k.nibbles(4), p, p, true)
		return
	}
	k.lookup(0, k.nibbles(4), k.table16(k.constants(counted, false), false, func(x VecVirtual) { p.join(x, true) }))
}

// halves is a scale and a minimum, two float16 at off.
func (k *kernel) halves(off int) pair {
	x, y := XMM(), YMM()
	k.note(k.from(off))
	VPBROADCASTD(k.from(off), x)
	VCVTPH2PS(x, y)
	if !k.ordinary {
		quieted(y)
	}
	return pair{firsts(y), seconds(y)}
}

// unset is FF for each element whose bit in the 32 at off is clear.
func (k *kernel) unset(off int) VecVirtual {
	y, bit := YMM(), k.constant(bitOfByte())
	VPBROADCASTD(k.from(off), y)
	VPSHUFB(k.constant(byteOfBit()), y, y)
	VPANDN(bit, y, y)
	VPCMPEQB(bit, y, y)
	return y
}

func q5_0(k *kernel) {
	d := k.half(0)
	k.negated(d)
	codes, clear := k.nibbles(6), k.unset(2)
	VPAND(bytes32(0xF0), clear, clear) // -16 where the high bit is clear
	VPOR(clear, codes, codes)
	k.scaled(0, codes, d, d)
}

func q5_1(k *kernel) {
	p := k.halves(0)
	codes, clear := k.nibbles(8), k.unset(4)
	VPANDN(bytes32(0x10), clear, clear)
	VPOR(clear, codes, codes)
	k.affine(0, codes, p, p, true)
}

// A few is codes of a block that has one scale and at most four values: one
// table, to F32 a register of them.
type few struct {
	l    looked
	four VecVirtual
}

func (k *kernel) few(d VecVirtual, v ...float32) (f few) {
	var all [16]float32
	copy(all[:], v)
	canonical(d)
	if !k.float32() {
		f.l = k.by(k.constants(all, true), d)
		return f
	}
	f.four = load(floats(all[:4]...))
	VMULPS(d, f.four, f.four)
	quieted(f.four)
	return f
}

func (f few) write(k *kernel, at int, codes VecVirtual) {
	if !k.float32() {
		k.lookup(at, codes, f.l)
		return
	}
	VMOVDQU(codes, k.spill)
	for i := range 4 {
		x := YMM()
		VPMOVZXBD(k.spill.Offset(quadAt[i]), x)
		VPERMILPS(x, f.four, x)
		VMOVUPS(x, k.to(at+8*i))
	}
}

func q1(k *kernel) {
	f := k.few(k.half(0), 1, -1)
	for i := range 4 {
		codes := k.unset(2 + 4*i)
		VPAND(bytes32(1), codes, codes)
		f.write(k, 32*i, codes)
	}
}

func q2(k *kernel) {
	f := k.few(k.half(0), -1, 0, 1, 2)
	for i := range 2 {
		y := YMM()
		VPBROADCASTQ(k.from(2+8*i), y)
		VPSHUFB(data([]byte{0, 0, 0, 0, 1, 1, 1, 1, 4, 4, 4, 4, 5, 5, 5, 5, 2, 2, 2, 2, 3, 3, 3, 3, 6, 6, 6, 6, 7, 7, 7, 7}), y, y)
		// Of each four equal bytes keep one pair of bits, then bring it down.
		high, codes := YMM(), YMM()
		VPSRLW(Imm(4), y, high)
		VPBLENDW(Imm(0xAA), high, y, y) // bits 0-3 of a word's bytes: pairs 0, 1 or 2, 3
		VPSRLW(Imm(2), y, high)
		VPBLENDVB(load(words(0xFF00)), high, y, codes)
		VPAND(bytes32(3), codes, codes)
		f.write(k, 32*i, codes)
	}
}

// twoBits is run r of 32 two-bit codes, the layout of the K types.
func (s spreads) twoBits(k *kernel, off, r int) VecVirtual {
	y := s.of(k, off+r/4*32, r%4*2)
	VPAND(bytes32(3), y, y)
	return y
}

func tq2(k *kernel) {
	f := k.few(k.half(64), -1, 0, 1, 2)
	bytes := spreads{}
	for r := range 8 {
		f.write(k, 32*r, bytes.twoBits(k, 0, r))
	}
}

// trit is the top base-3 digit of each byte: bytes are fractions of 3^5 in
// 256ths, so the digit is how often 256 goes into three times the byte.
func trit(t VecVirtual) VecVirtual {
	codes, turned, m := YMM(), YMM(), YMM()
	VPXOR(bytes32(0x80), t, turned)
	VPCMPGTB(bytes32(85^0x80), turned, m)
	VPABSB(m, codes)
	VPCMPGTB(bytes32(170^0x80), turned, m)
	VPSUBB(m, codes, codes)
	return codes
}

// tripled moves to the next digit.
func tripled(t VecVirtual) {
	twice := YMM()
	VPADDB(t, t, twice)
	VPADDB(twice, t, t)
}

func tq1(k *kernel) {
	f := k.few(k.half(52), -1, 0, 1)
	t := YMM()
	k.spreadQuads(k.from(0), t)
	for n := range 5 {
		if n > 0 {
			tripled(t)
		}
		f.write(k, 32*n, trit(t))
	}
	// Sixteen bytes of five digits: two digits a run; with the last one go
	// four bytes of four digits.
	pairs := YMM()
	VBROADCASTI128(k.from(32), pairs)
	upper := YMM()
	VPADDB(pairs, pairs, upper)
	VPADDB(pairs, upper, upper)
	VPBLENDD(Imm(0xF0), upper, pairs, pairs)
	for n := range 2 {
		if n > 0 {
			for range 2 {
				tripled(pairs)
			}
		}
		codes := YMM()
		VPERMQ(Imm(quads), pairs, codes)
		f.write(k, 160+32*n, trit(codes))
	}
	for range 2 {
		tripled(pairs)
	}
	last := YMM()
	VPBROADCASTD(k.from(48), last.AsX())
	VPMOVZXBW(last.AsX(), last)
	VPMULLW(words(1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27), last, last)
	VPAND(words(0xFF), last, last)
	other := YMM()
	VEXTRACTI128(Imm(1), last, other.AsX())
	VPACKUSWB(other.AsX(), last.AsX(), last.AsX())
	VINSERTI128(Imm(1), last.AsX(), pairs, pairs)
	VPERMQ(Imm(quads), pairs, pairs)
	f.write(k, 224, trit(pairs))
}
