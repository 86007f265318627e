//go:build amd64 && !purego

package asm

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// float8Words is the words of codes without a sign as bfloat16, which they are
// exactly: all low bytes, then all high ones. A NaN is FFC0. Then come the high bytes
// of their 2^-64th part with the sign, but of NaN, which is 7FC0; the least scale
// whose products are normal, as bits; and the code of minus NaN.
var float8Words = func() (t [Floats8][389]byte) {
	for f := range t {
		for i := range 128 {
			w := FloatToBfloat(Float(f).Value(uint8(i)))
			high, small := byte(w>>8), byte(w>>8)|0x80
			switch {
			case w > 0x7F80:
				high, small = 0xFF, 0x7F
			case w > 0 && w < 0x7F80:
				small -= 64 / 2
			}
			t[f][i], t[f][128+i], t[f][256+i] = byte(w), high, small
		}
		binary.LittleEndian.PutUint32(t[f][384:], float8Range[f].least<<23)
		t[f][388] = 0xFF
		if v := Float(f).Value(0x80); v != v {
			t[f][388] = 0x80
		}
	}
	return t
}()

// float8Range is the biased exponents of scales that give products that are all
// normal: from that of the least number above zero, 2^(1-bias-man), to that of
// the largest, below 2^9 or 2^16.
var float8Range = [Floats8]struct{ least, most uint32 }{
	E4M3:     {127 - 117, 127 + 118},
	E5M2:     {127 - 110, 127 + 111},
	E4M3FNUZ: {127 - 116, 127 + 118},
	E5M2FNUZ: {127 - 109, 127 + 111},
}

func float8By(k func(dst, src *byte, a, b *float32, table *byte, chunks, n int), f Float) float8Kernel {
	table := &float8Words[f]
	return func(dst, src *byte, a, b *float32, chunks, n int) { k(dst, src, a, b, &table[0], chunks, n) }
}

// A float8Form is what the formats differ by, as float8NormalAVX512 reads it.
type float8Form [4*64 + 28]byte

// formOf makes the form of a format of man bits of mantissa.
func formOf(f Float, man int) *float8Form {
	const (
		special, others, added, singles = 128, 64, 192, 256
		infinite                        = 15 // where the numbers have infinity, if the format has it
	)
	p := new(float8Form)
	first := 1 << man // the first code that is not subnormal
	most := 0x80>>man - 1
	number := func(i int, v float32) { putFloat(p[4*i:], v) }
	// The upper words of numbers, where the i-th word of a table has them.
	place := func(table, i, number int) { p[table+2*i], p[table+2*i+1] = byte(4*number+2), byte(4*number+3) }
	for i := range first {
		number(i, f.Value(uint8(i)))
		number(first+i, f.Value(uint8(first+i))/2) // as if their exponent were zero
	}
	if f == E5M2 {
		number(infinite, float32(math.Inf(1)))
	}
	numeric := ^uint64(0)
	for i := range 32 {
		place(others, i, first+i%first)
		sign, at, exponent := i&1<<7, i>>1%first, 0
		if i>>1 >= first {
			exponent = most
		}
		add := sign<<8 | exponent<<7
		switch v := f.Value(uint8(sign | exponent<<man | at)); {
		case v != v:
			numeric &^= 3 << (2 * i)
			add = 0x7FC0
		case math.IsInf(float64(v), 0):
			at, add = infinite, sign<<8
		case exponent > 0:
			at += first
		}
		place(special, i, at)
		binary.LittleEndian.PutUint16(p[added+2*i:], uint16(add))
	}
	r := float8Range[f]
	for i, v := range []uint32{
		uint32(7 - man), uint32(most) << 7 * 0x10001, uint32(most-1) << 7 * 0x10001,
		uint32(numeric), uint32(numeric >> 32), r.least << 23, (r.most - r.least) << 23,
	} {
		binary.LittleEndian.PutUint32(p[singles+4*i:], v)
	}
	return p
}

var float8Forms = [Floats8]*float8Form{
	E4M3:     formOf(E4M3, 3),
	E5M2:     formOf(E5M2, 2),
	E4M3FNUZ: formOf(E4M3FNUZ, 3),
	E5M2FNUZ: formOf(E5M2FNUZ, 2),
}

// lines is so many bytes that begin with a line of the cache.
func lines(n int) []byte {
	p := make([]byte, n+63)
	return p[-uintptr(unsafe.Pointer(&p[0]))%64:][:n]
}

// oddOf makes a format's table as float8OddAVX512 reads it, or as the kernel does whose
// words of two registers take turns.
func oddOf(f Float, man int, turns bool) *byte {
	const singles = 4 * 128
	p := lines(singles + 40)
	var finite [2]uint32
	for i := range 128 { // 32 even codes, then 32 odd ones, below 64 and from there on
		code := i&64 | i%32<<1 | i>>5&1
		if turns {
			code = i&64 | i%16<<2 | i>>4&1<<1 | i>>5&1
		}
		v := math.Float32bits(f.Value(uint8(code)))
		switch {
		case v > 0x7F800000:
			v = 0xFFC00000
		case v < 0x7F800000 && i >= 64:
			finite[code&1] |= 1 << (code % 64 / 2)
		}
		binary.LittleEndian.PutUint32(p[4*i:], v)
	}
	putSingles(p[singles:], f, man, finite)
	return &p[0]
}

// putSingles writes what the tables of a format end with.
func putSingles(p []byte, f Float, man int, finite [2]uint32) {
	r, first, nan := float8Range[f], math.Float32bits(f.Value(1<<man)), uint32(0xFF)
	if v := f.Value(0x80); v != v {
		nan = 0x80
	}
	for i, v := range []uint32{
		finite[0], finite[1], r.least << 23, (r.most - r.least) << 23, first - 1<<23,
		uint32(23 - man), first, nan, r.least<<23 - 1, 1<<(23-man) - 1,
	} {
		binary.LittleEndian.PutUint32(p[4*i:], v)
	}
}

// fewOf makes a format's table as float8FewAVX512 reads it.
func fewOf(f Float, man int) *byte {
	p := lines(2*128 + 40)
	copy(p, float8Words[f][:2*128])
	putSingles(p[2*128:], f, man, [2]uint32{})
	return &p[0]
}

var float8Fews = [Floats8]*byte{
	E4M3:     fewOf(E4M3, 3),
	E5M2:     fewOf(E5M2, 2),
	E4M3FNUZ: fewOf(E4M3FNUZ, 3),
	E5M2FNUZ: fewOf(E5M2FNUZ, 2),
}

// float8Odds is those, and behind them what that kernel reads.
var float8Odds = func() (t [2][Floats8]*byte) {
	for i := range t {
		t[i] = [Floats8]*byte{
			E4M3: oddOf(E4M3, 3, i == 1), E5M2: oddOf(E5M2, 2, i == 1),
			E4M3FNUZ: oddOf(E4M3FNUZ, 3, i == 1), E5M2FNUZ: oddOf(E5M2FNUZ, 2, i == 1),
		}
	}
	return t
}()

// float8Additions is what float8OddAVX512 adds to products, and takes off words, by how
// many codes of a register are below the first one whose product is normal. So that
// nothing it loads lies in two lines of the cache, each number of them that is there
// has a row of its own: 64 numbers for codes below, 64 for others; 16 rows of
// dwords, 32 rows of words, which turn the sign too; and at the end words that do that
// alone.
var float8Additions = func() *byte {
	const words = 16 * 512
	room := lines(words + 32*256 + 128)
	for row := range 16 {
		for i := range 128 {
			v := float32(0)
			if i < 64+row {
				v = 4
			}
			putFloat(room[512*row+4*i:], v)
		}
	}
	for row := range 32 {
		for i := range 128 {
			v := uint16(0xC000)
			if i < 64+row {
				v = 0xC080
			}
			binary.LittleEndian.PutUint16(room[words+256*row+2*i:], v)
		}
	}
	for i := range 64 {
		room[words+32*256+2*i+1] = 0x80
	}
	return &room[0]
}()

// The kernels that decode some of n runs, of two chunks or less and of more, and say
// how many.
type (
	float8Few = func(dst, src *byte, a *float32, table *byte, chunks, n, least int) int
	float8Odd = func(dst, src *byte, a *float32, table, list *byte, chunks, n, least int) int
)

// wordsFloat8 decodes to BF16. Runs whose products are normal go by their mantissas;
// others, with some that follow, by tables of all codes, or where they are short by a
// product each; k has a single one. Long ones have such tables too.
func wordsFloat8(f Float, table *byte, few float8Few, odd float8Odd, k float8Kernel) float8Kernel {
	const some, short, long = 256, 2, 8 // chunks
	form, other := float8Forms[f], float8Fews[f]
	return func(dst, src *byte, a, b *float32, chunks, n int) {
		if chunks >= long {
			odd(dst, src, a, table, float8Additions, chunks, n, n)
			return
		}
		skip := func(done int) bool {
			codes := done * chunks * kernelChunk
			if n -= done; n > 0 {
				dst, src, a = after(dst, 2*codes), after(src, codes), after(a, done)
			}
			return n == 0
		}
		for !skip(float8NormalAVX512(dst, src, a, &form[0], chunks, n)) {
			done := min(n, some/chunks)
			switch {
			case n < 2 && chunks < 2:
				k(dst, src, a, a, chunks, 1)
			case chunks <= short:
				done = few(dst, src, a, other, chunks, n&-(3-chunks), done)
			default:
				done = odd(dst, src, a, table, float8Additions, chunks, n, done)
			}
			if skip(done) {
				return
			}
		}
	}
}

func longFloat8(k float8Kernel) float8Kernel {
	return func(dst, src *byte, a, b *float32, chunks, n int) {
		if chunks < longRun {
			k(dst, src, a, b, chunks, n)
			return
		}
		looked(dst, src, chunks, n, func(table *byte, r int) {
			k(table, &allCodes[0], after(a, r), after(b, r), len(allCodes)/kernelChunk, 1)
		})
	}
}
