//go:build amd64 && !purego

package asm

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// float8Words is the words of codes without a sign as bfloat16, which they are
// exactly: all low bytes, then all high ones. A NaN is FFC0. Then comes the code of
// minus NaN, where no code without a sign is that, or FF.
var float8Words = func() (t [float8Kinds][257]byte) {
	for f := range t {
		for i := range 128 {
			w := FloatToBfloat(Float(f).Value(uint8(i)))
			if w > 0x7F80 {
				w = 0xFFC0
			}
			t[f][i], t[f][128+i] = byte(w), byte(w>>8)
		}
		t[f][256] = minusNaN(Float(f))
	}
	return t
}()

// float8Kinds is how many formats of eight bits have kernels: E5M2FNUZ, which no
// published model has, has none.
const float8Kinds = int(E4M3FNUZ) + 1

// minusNaN is the code of minus zero if that is NaN, or one that tables have.
func minusNaN(f Float) byte {
	if v := f.Value(0x80); v != v {
		return 0x80
	}
	return 0xFF
}

// float8Range is the biased exponents of scales that give products that are all
// normal: from that of the least number above zero, 2^(1-bias-man), to that of
// the largest, below 2^9 or 2^16.
var float8Range = [float8Kinds]struct{ least, most uint32 }{
	E4M3:     {127 - 117, 127 + 118},
	E5M2:     {127 - 110, 127 + 111},
	E4M3FNUZ: {127 - 116, 127 + 118},
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

var float8Forms = [float8Kinds]*float8Form{
	E4M3:     formOf(E4M3, 3),
	E5M2:     formOf(E5M2, 2),
	E4M3FNUZ: formOf(E4M3FNUZ, 3),
}

// lines is so many bytes that begin with a line of the cache.
func lines(n int) []byte {
	p := make([]byte, n+63)
	return p[-uintptr(unsafe.Pointer(&p[0]))%64:][:n]
}

// longOf makes a format's table as float8LongAVX512 reads it.
func longOf(f Float) *byte {
	const singles = 4 * 128
	p := lines(singles + 9)
	for i := range 128 { // even codes, then odd ones, below 64 and from there on
		v := f.Value(uint8(i&64 | i%16<<2 | i>>4&1<<1 | i>>5&1))
		if v != v {
			v = float32(math.NaN())
		}
		putFloat(p[4*i:], v)
	}
	r := float8Range[f]
	binary.LittleEndian.PutUint32(p[singles:], r.least<<23)
	binary.LittleEndian.PutUint32(p[singles+4:], (r.most-r.least)<<23)
	p[singles+8] = minusNaN(f)
	return &p[0]
}

// wordsFloat8 decodes to BF16. Runs whose products are normal go by their mantissas; where
// one is not, it and some that follow by a product each. Long ones have tables of all codes.
func wordsFloat8(f Float) float8Kernel {
	const some, long = 1024, 8 // chunks
	form, table, short := &float8Forms[f][0], longOf(f), float8By(float8BF16AVX512, f)
	return func(dst, src *byte, a, b *float32, chunks, n int) {
		if chunks >= long {
			float8LongAVX512(dst, src, a, table, chunks, n)
			return
		}
		skip := func(done int) bool {
			codes := done * chunks * kernelChunk
			if n -= done; n > 0 {
				dst, src, a = after(dst, 2*codes), after(src, codes), after(a, done)
			}
			return n == 0
		}
		for !skip(float8NormalAVX512(dst, src, a, form, chunks, n)) {
			done := min(n, some/chunks)
			short(dst, src, a, a, chunks, done)
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
		byTable(dst, src, chunks, n, func(table *byte, r int) {
			k(table, &allCodes[0], after(a, r), after(b, r), len(allCodes)/kernelChunk, 1)
		})
	}
}
