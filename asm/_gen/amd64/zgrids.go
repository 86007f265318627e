package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// signed8 writes the 256 elements of a block of rows: each is negative
// where its bit of 256 at signs is set.
func (z *zkernel) signed8(rows gridCodes, signs Mem, g zgrid, s VecVirtual) {
	if !z.float32() {
		z.gridWords(z.doubled(rows, g, nil), g, s, &signs)
		return
	}
	zero, kept := ZMM(), zkeep(z, s)
	VPXORD(zero, zero, zero)
	for j := range 4 {
		codes, way := rows(j)
		k := K()
		KMOVQ(signs.Offset(8*j), k)
		VPSUBB(codes, zero, k, codes)
		z.signed16(64*j, codes, way, kept, func(i int) int { return (4*j + i) * 16 / g.per })
	}
}

// byScale is d*(half+s)*factor for scales in dwords, or without a half
// d*(1+2s)*factor.
func (z *zkernel) byScale(s, d VecVirtual, half, factor float32) VecVirtual {
	if half == 0 {
		VPADDD(s, s, s)
		VPADDD_BCST(dwords(1), s, s)
		ztimes(s, d)
	} else {
		VCVTDQ2PS(s, s)
		VADDPS_BCST(floats(half), s, s)
		VMULPS(d, s, s)
	}
	if factor != 1 {
		VMULPS_BCST(floats(factor), s, s)
	}
	return s
}

// nibbleDwords is the nibbles of the first eight bytes of src, low ones first.
func nibbleDwords(src VecVirtual) VecVirtual {
	x := lanes(src, func(i int) int { return i / 2 }, func(i int) int { return i % 2 * 4 })
	VPANDD_BCST(dwords(15), x, x)
	return x
}

func eightBytes(m Mem) VecVirtual {
	x := ZMM()
	VPBROADCASTQ(m, x)
	return x
}

// evenSigned is the sign bytes of sets of seven signs in bytes, whose upper bit
// may be anything: the eighth makes the number of minuses even.
func evenSigned(sets VecVirtual) VecVirtual {
	half := func(first int) Mem {
		return bytes64(func(i int) int {
			v := first + i
			return v | (v^v>>1^v>>2^v>>3^v>>4^v>>5^v>>6)&1<<7
		})
	}
	VPERMI2B(half(64), zload(half(0)), sets)
	return sets
}

// keptSigns stores 32 sign bytes that are the lower halves of eight qwords.
func (z *zkernel) keptSigns(signs VecVirtual) Mem {
	m := z.room(32)
	VPMOVQD(signs, m)
	return m
}

// sevens is the four fields of seven bits of each qword, from bit first on.
func sevens(x VecVirtual, first int) VecVirtual {
	y := ZMM()
	VPMULTISHIFTQB(x, zload(bytes64(func(i int) int { return first + i%4*7 })), y)
	return evenSigned(y)
}

func ziq2XXS(z *zkernel) {
	indices, pairs, s := zload(z.from(2)), ZMM(), ZMM()
	signs := z.keptSigns(sevens(indices, 32))
	VPSRLQ(Imm(60), indices, pairs)
	VPMOVQD(pairs, s.AsY())
	s = z.byScale(s, zhalf(z.from(0)), 0.5, 0.25)
	rows := z.rows8Of("iq2xxsGrid", indices, 1, func(i int) int { return i/4*8 + i%4 })
	z.signed8(rows, signs, grid2XXS, s)
}

func ziq2XS(z *zkernel) {
	pairs, index := zload(z.from(2)), ZMM()
	VPANDD(all(0x01FF01FF), pairs, index)
	VPSRLW(Imm(9), pairs, pairs)
	sets, signs := ZMM(), z.room(32)
	VPMOVWB(pairs, sets.AsY())
	VMOVDQU64(evenSigned(sets).AsY(), signs)
	s := z.byScale(nibbleDwords(eightBytes(z.from(66))), zhalf(z.from(0)), 0.5, 0.25)
	z.signed8(z.rows8Of("iq2xsGrid", index, 2, wordOf), signs, grid2XS, s)
}

// indices is 32 words: a byte at off each, and above it what mask has of high.
func (z *zkernel) indices(off int, high VecVirtual, mask uint32) VecVirtual {
	x := ZMM()
	VPMOVZXBW(z.from(off), x)
	VPTERNLOGD(Imm(andOr), x, all(mask<<16|mask), high)
	return high
}

// wordOf is where row i has its index among 32 words.
func wordOf(i int) int { return 2 * i }

func ziq2S(z *zkernel) {
	tail := sixteen(z.from(66))
	// The byte of four rows, moved so that a row's two bits stand at 8.
	high := ZMM()
	VPERMB(tail, zload(bytes64(func(i int) int { return i / 8 })), high)
	VPSLLVW(words64(func(i int) int { return 8 - i%4*2 }), high, high)
	index, above := z.indices(2, high, 0x300), ZMM()
	VPERMB(tail, zload(bytes64(func(i int) int { return 8 + i%8 })), above)
	s := z.byScale(nibbleDwords(above), zhalf(z.from(0)), 0.5, 0.25)
	z.signed8(z.rows8Of("iq2sGrid", index, 2, wordOf), z.from(34), grid2S, s)
}

func ziq3XXS(z *zkernel) {
	sets, s := ZMM(), ZMM()
	VPMOVZXDQ(z.from(66), sets)
	signs := z.keptSigns(sevens(sets, 0))
	VPSRLD(Imm(28), sets, sets)
	VPMOVQD(sets, s.AsY())
	s = z.byScale(s, zhalf(z.from(0)), 0.5, 0.5)
	z.rows3("iq3xxs", nil, signs, grid3XXS, s)
}

func ziq3S(z *zkernel) {
	upper, four := K(), ZMM()
	KMOVQ(z.from(66), upper)
	VPBROADCASTD(z.from(106), four)
	s := z.byScale(nibbleDwords(four), zhalf(z.from(0)), 0, 1)
	z.rows3("iq3s", upper, z.from(74), grid3S, s)
}

// ternary writes a block of rows of signed bytes that are shifted by an eighth
// each, down where their bit of 32 is set: times eight they are whole, and an
// eighth of the scale is exact.
func (z *zkernel) ternary(rows gridCodes, down Register, g zgrid, s VecVirtual) {
	next := func(j int) OpmaskVirtual {
		k := K()
		KMOVB(down.(GPVirtual).As32(), k)
		if j < 3 {
			SHRL(Imm(8), down.(GPVirtual).As32())
		}
		return k
	}
	if !z.float32() {
		z.gridWords(z.doubled(rows, g, func(j int, codes VecVirtual) { VPXORQ(z.shared["down"], codes, next(j), codes) }), g, s, nil)
		return
	}
	up, minus, kept := all(0x01010101), all(0xFFFFFFFF), zkeep(z, s)
	for j := range 4 {
		codes, way := rows(j)
		eighths := ZMM()
		VPBLENDMQ(minus, up, next(j), eighths)
		for range 3 {
			VPADDB(codes, codes, codes)
		}
		VPADDB(eighths, codes, codes)
		z.signed16(64*j, codes, way, kept, func(i int) int { return (4*j + i) * 16 / g.per })
	}
}

func ziq1S(z *zkernel) {
	words, high, s := sixteen(z.from(34)), ZMM(), ZMM()
	// The word of four rows, moved so that a row's three bits stand at 8.
	VPERMB(words, zload(words64(func(i int) int { return i/4*0x202 + 0x100 })), high)
	index := ZMM()
	VPSRLVW(words64(func(i int) int { return [4]int{0, 0, 0, 1}[i%4] }), high, index)
	VPSLLVW(words64(func(i int) int { return [4]int{8, 5, 2, 0}[i%4] }), index, index)
	kept, k, down := z.indices(2, index, 0x700), K(), GP64()
	VPMOVW2M(high, k) // four bits of each word are its sign
	KMOVD(k, down.As32())
	VPMOVZXWD(words.AsY(), s)
	VPSRLD(Imm(12), s, s)
	VPANDD_BCST(dwords(7), s, s)
	s = z.byScale(s, zhalf(z.from(0)), 0, 0.125)
	z.ternary(z.rows8Of("iq1Grid", kept, 2, wordOf), down, grid1S, s)
}

func ziq1M(z *zkernel) {
	tail := sixteen(z.from(32))
	high := ZMM()
	// A byte for two rows: the first's bits move up by eight, the second's by four.
	VPERMB(tail, zload(bytes64(func(i int) int { return i / 4 })), high)
	index := ZMM()
	VPSRLVW(words64(func(i int) int { return i % 2 * 4 }), high, index)
	kept := z.indices(0, index, 0x700)
	// Bit 3 of a row's four bits is its sign: bit 11 or 15 of two equal bytes.
	k, down := K(), GP64()
	VPTESTMW(words64(func(i int) int { return 0x0808 << (i % 2 * 4) }), high, k)
	KMOVD(k, down.As32())
	packed, r, bits := GP64(), GP64(), GP64()
	MOVQ(z.from(48), packed)
	MOVQ(U64(0xF000F000F000F000), bits)
	PEXTQ(bits, packed, r)
	half, d := YMM(), ZMM()
	VPBROADCASTW(r.As32(), half)
	VCVTPH2PS(half, d)
	s := lanes(eightBytes(z.from(48)), func(i int) int { return i / 4 * 2 }, func(i int) int { return i % 4 * 3 })
	VPANDD_BCST(dwords(7), s, s)
	s = z.byScale(s, d, 0, 0.125)
	z.ternary(z.rows8Of("iq1Grid", kept, 2, wordOf), down, grid1M, s)
}
