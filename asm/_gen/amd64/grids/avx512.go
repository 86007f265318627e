// Package grids is IQ1, IQ2 and IQ3: codes name rows of a grid, of four or eight small
// numbers each.
package grids

import (
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/blocks"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/anamnesis-go/anamnesis/asm/_gen/amd64/zmm"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// AVX512Layouts is those blocks in registers of 64 bytes.
var AVX512Layouts = []Layout{
	{Name: "iq1_S", Kinds: []string{"IQ1_S"}, Elems: 256, Bytes: 50, To: NotBF16, Scales: Scaled{At: 0, Exponents: OneHalf}, Block: of(grid1S, (*kernel).iq1S),
		Says: says("IQ1_S", "a scale of 3 bits and a sign for 32", "(row[i] +- 1/8) * (2*scale+1)*d")},
	// Four bits in each of four words: the exponent is in the last two.
	{Name: "iq1_M", Kinds: []string{"IQ1_M"}, Elems: 256, Bytes: 56, To: Targets, Scales: Scaled{At: 52, Exponents: []uint32{0x7000C000}}, Block: of(grid1M, (*kernel).iq1M),
		Says: says("IQ1_M", "a scale of 3 bits for 16, a sign for 8", "(row[i] +- 1/8) * (2*scale+1)*d")},
	{Name: "iq2_XXS", Kinds: []string{"IQ2_XXS"}, Elems: 256, Bytes: 66, To: NotBF16, Scales: Scaled{At: 0, Exponents: OneHalf}, Block: of(grid2XXS, (*kernel).iq2XXS),
		Says: says("IQ2_XXS", "a scale of 4 bits for 32, 7 signs for 8", "+-row[i] * (scale+1/2)*d/4")},
	{Name: "iq2_XS", Kinds: []string{"IQ2_XS"}, Elems: 256, Bytes: 74, To: NotBF16, Scales: Scaled{At: 0, Exponents: OneHalf}, Block: of(grid2XS, (*kernel).iq2XS),
		Says: says("IQ2_XS", "a scale of 4 bits for 16, 7 signs for 8", "+-row[i] * (scale+1/2)*d/4")},
	{Name: "iq2_S", Kinds: []string{"IQ2_S"}, Elems: 256, Bytes: 82, To: NotBF16, Scales: Scaled{At: 0, Exponents: OneHalf}, Block: of(grid2S, (*kernel).iq2S),
		Says: says("IQ2_S", "a scale of 4 bits for 16, 8 signs for 8", "+-row[i] * (scale+1/2)*d/4")},
	{Name: "iq3_XXS", Kinds: []string{"IQ3_XXS"}, Elems: 256, Bytes: 98, To: Targets, Scales: Scaled{At: 0, Exponents: OneHalf}, Block: of(grid3XXS, (*kernel).iq3XXS),
		Says: says("IQ3_XXS", "a scale of 4 bits for 32, 7 signs for 8", "+-row[i] * (scale+1/2)*d/2")},
	{Name: "iq3_S", Kinds: []string{"IQ3_S"}, Elems: 256, Bytes: 110, To: Targets, Scales: Scaled{At: 0, Exponents: OneHalf}, Block: of(grid3S, (*kernel).iq3S),
		Says: says("IQ3_S", "a scale of 4 bits for 32, 8 signs for 8", "+-row[i] * (2*scale+1)*d")},
}

func says(name, parts, number string) []string {
	return []string{name + ": d float16; indices of rows, " + parts + " elements", "table = what a byte of a row comes to under each scale", "number = " + number}
}

// signed writes the 256 elements of a block of rows: each is negative
// where its bit of 256 at signs is set.
func (z *kernel) signed(rows gridCodes, signs Mem, s VecVirtual) {
	if z.Words() {
		z.write(z.doubled(rows, nil), s, &signs)
		return
	}
	Comment("Rows, 64 elements at a time.")
	zero, kept := ZMM(), Keep(z.Kernel, s)
	VPXORD(zero, zero, zero)
	for j := range 4 {
		codes, way := rows(j)
		k := Into(K(), KMOVQ, signs.Offset(8*j))
		VPSUBB(codes, zero, k, codes)
		z.Signed16(64*j, codes, way, kept, func(i int) int { return (4*j + i) * 16 / z.per })
	}
}

// byScale is d*(half+s)*factor for scales in dwords, or without a half
// d*(1+2s)*factor.
func (z *kernel) byScale(s, d VecVirtual, half, factor float32) VecVirtual {
	if half == 0 {
		VPADDD(s, s, s)
		VPADDD_BCST(Dwords(1), s, s)
		Times(s, d)
	} else {
		VCVTDQ2PS(s, s)
		VADDPS_BCST(Floats(half), s, s)
		VMULPS(d, s, s)
	}
	if factor != 1 {
		VMULPS_BCST(Floats(factor), s, s)
	}
	return s
}

// nibbleDwords is the nibbles of the first eight bytes of src, low ones first.
func nibbleDwords(src VecVirtual) VecVirtual {
	x := Lanes(src, func(i int) int { return i / 2 }, func(i int) int { return i % 2 * 4 })
	VPANDD_BCST(Dwords(15), x, x)
	return x
}

func eightBytes(m Mem) VecVirtual {
	return Into(ZMM(), VPBROADCASTQ, m)
}

// evenSigned is the sign bytes of sets of seven signs in bytes, whose upper bit
// may be anything: the eighth makes the number of minuses even.
func evenSigned(sets VecVirtual) VecVirtual {
	half := func(first int) Mem {
		return Bytes64(func(i int) int {
			v := first + i
			return v | (v^v>>1^v>>2^v>>3^v>>4^v>>5^v>>6)&1<<7
		})
	}
	VPERMI2B(half(64), Load64(half(0)), sets)
	return sets
}

// keptSigns stores 32 sign bytes that are the lower halves of eight qwords.
func (z *kernel) keptSigns(signs VecVirtual) Mem {
	m := z.Room(32)
	VPMOVQD(signs, m)
	return m
}

// sevens is the four fields of seven bits of each qword, from bit first on.
func sevens(x VecVirtual, first int) VecVirtual {
	y := Into(ZMM(), VPMULTISHIFTQB, x, Load64(Bytes64(func(i int) int { return first + i%4*7 })))
	return evenSigned(y)
}

func (z *kernel) iq2XXS() {
	Comment("Indices, signs and scales.")
	indices, pairs, s := Load64(z.From(2)), ZMM(), ZMM()
	signs := z.keptSigns(sevens(indices, 32))
	VPSRLQ(Imm(60), indices, pairs)
	VPMOVQD(pairs, s.AsY())
	s = z.byScale(s, Half(z.From(0)), 0.5, 0.25)
	rows := z.rows8Of("iq2xxsGrid", indices, 1, func(i int) int { return i/4*8 + i%4 })
	z.signed(rows, signs, s)
}

func (z *kernel) iq2XS() {
	Comment("Indices, signs and scales.")
	pairs, index := Load64(z.From(2)), ZMM()
	VPANDD(All(0x01FF01FF), pairs, index)
	VPSRLW(Imm(9), pairs, pairs)
	sets, signs := ZMM(), z.Room(32)
	VPMOVWB(pairs, sets.AsY())
	VMOVDQU64(evenSigned(sets).AsY(), signs)
	s := z.byScale(nibbleDwords(eightBytes(z.From(66))), Half(z.From(0)), 0.5, 0.25)
	z.signed(z.rows8Of("iq2xsGrid", index, 2, wordOf), signs, s)
}

// indices is 32 words: a byte at off each, and above it what mask has of high.
func (z *kernel) indices(off int, high VecVirtual, mask uint32) VecVirtual {
	x := Into(ZMM(), VPMOVZXBW, z.From(off))
	VPTERNLOGD(Imm(AndOr), x, All(mask<<16|mask), high)
	return high
}

// wordOf is where row i has its index among 32 words.
func wordOf(i int) int { return 2 * i }

func (z *kernel) iq2S() {
	Comment("Indices, signs and scales.")
	tail := Sixteen(z.From(66))
	// The byte of four rows, moved so that a row's two bits stand at 8.
	high := Into(ZMM(), VPERMB, tail, Load64(Bytes64(func(i int) int { return i / 8 })))
	VPSLLVW(Words64(func(i int) int { return 8 - i%4*2 }), high, high)
	index, above := z.indices(2, high, 0x300), ZMM()
	VPERMB(tail, Load64(Bytes64(func(i int) int { return 8 + i%8 })), above)
	s := z.byScale(nibbleDwords(above), Half(z.From(0)), 0.5, 0.25)
	z.signed(z.rows8Of("iq2sGrid", index, 2, wordOf), z.From(34), s)
}

func (z *kernel) iq3XXS() {
	Comment("Indices, signs and scales.")
	sets, s := ZMM(), ZMM()
	VPMOVZXDQ(z.From(66), sets)
	signs := z.keptSigns(sevens(sets, 0))
	VPSRLD(Imm(28), sets, sets)
	VPMOVQD(sets, s.AsY())
	s = z.byScale(s, Half(z.From(0)), 0.5, 0.5)
	z.rows3("iq3xxs", nil, signs, s)
}

func (z *kernel) iq3S() {
	Comment("Indices, signs and scales.")
	upper := Into(K(), KMOVQ, z.From(66))
	four := Into(ZMM(), VPBROADCASTD, z.From(106))
	s := z.byScale(nibbleDwords(four), Half(z.From(0)), 0, 1)
	z.rows3("iq3s", upper, z.From(74), s)
}

// ternary writes a block of rows of signed bytes that are shifted by an eighth
// each, down where their bit of 32 is set: times eight they are whole, and an
// eighth of the scale is exact.
func (z *kernel) ternary(rows gridCodes, down Register, s VecVirtual) {
	next := func(j int) OpmaskVirtual {
		k := Into(K(), KMOVB, down.(GPVirtual).As32())
		if j < 3 {
			SHRL(Imm(8), down.(GPVirtual).As32())
		}
		return k
	}
	if z.Words() {
		z.write(z.doubled(rows, func(j int, codes VecVirtual) { VPXORQ(z.third, codes, next(j), codes) }), s, nil)
		return
	}
	Comment("Rows, 64 elements at a time.")
	up, minus, kept := All(0x01010101), All(0xFFFFFFFF), Keep(z.Kernel, s)
	for j := range 4 {
		codes, way := rows(j)
		eighths := Into(ZMM(), VPBLENDMQ, minus, up, next(j))
		for range 3 {
			VPADDB(codes, codes, codes)
		}
		VPADDB(eighths, codes, codes)
		z.Signed16(64*j, codes, way, kept, func(i int) int { return (4*j + i) * 16 / z.per })
	}
}

func (z *kernel) iq1S() {
	Comment("Indices, signs and scales.")
	words, high, s := Sixteen(z.From(34)), ZMM(), ZMM()
	// The word of four rows, moved so that a row's three bits stand at 8.
	VPERMB(words, Load64(Words64(func(i int) int { return i/4*0x202 + 0x100 })), high)
	index := Into(ZMM(), VPSRLVW, Words64(func(i int) int { return [4]int{0, 0, 0, 1}[i%4] }), high)
	VPSLLVW(Words64(func(i int) int { return [4]int{8, 5, 2, 0}[i%4] }), index, index)
	kept, k, down := z.indices(2, index, 0x700), K(), GP64()
	VPMOVW2M(high, k) // four bits of each word are its sign
	KMOVD(k, down.As32())
	VPMOVZXWD(words.AsY(), s)
	VPSRLD(Imm(12), s, s)
	VPANDD_BCST(Dwords(7), s, s)
	s = z.byScale(s, Half(z.From(0)), 0, 0.125)
	z.ternary(z.rows8Of("iq1Grid", kept, 2, wordOf), down, s)
}

func (z *kernel) iq1M() {
	Comment("Indices, signs and scales.")
	tail := Sixteen(z.From(32))
	// A byte for two rows: the first's bits move up by eight, the second's by four.
	high := Into(ZMM(), VPERMB, tail, Load64(Bytes64(func(i int) int { return i / 4 })))
	index := Into(ZMM(), VPSRLVW, Words64(func(i int) int { return i % 2 * 4 }), high)
	kept := z.indices(0, index, 0x700)
	// Bit 3 of a row's four bits is its sign: bit 11 or 15 of two equal bytes.
	k, down := K(), GP64()
	VPTESTMW(Words64(func(i int) int { return 0x0808 << (i % 2 * 4) }), high, k)
	KMOVD(k, down.As32())
	packed := Into(GP64(), MOVQ, z.From(48))
	bits := Into(GP64(), MOVQ, U64(0xF000F000F000F000))
	r := Into(GP64(), PEXTQ, bits, packed)
	half := Into(YMM(), VPBROADCASTW, r.As32())
	d := Into(ZMM(), VCVTPH2PS, half)
	s := Lanes(eightBytes(z.From(48)), func(i int) int { return i / 4 * 2 }, func(i int) int { return i % 4 * 3 })
	VPANDD_BCST(Dwords(7), s, s)
	s = z.byScale(s, d, 0, 0.125)
	z.ternary(z.rows8Of("iq1Grid", kept, 2, wordOf), down, s)
}
