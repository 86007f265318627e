//go:build amd64 && !purego

package asm

import "encoding/binary"

// float8Words is each code's number as a bfloat16, which it is exactly: all low
// bytes, then all high ones. A NaN is FFC0, as the kernels want it. The last four
// bytes are the least scale whose products are normal, as bits.
var float8Words = func() (t [Floats8][516]byte) {
	for f := range t {
		for i := range 256 {
			w := FloatToBfloat(Float(f).Value(uint8(i)))
			if w == 0x7FC0 {
				w = 0xFFC0
			}
			t[f][i], t[f][256+i] = byte(w), byte(w>>8)
		}
		binary.LittleEndian.PutUint32(t[f][512:], float8Range[f].least<<23)
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

// A float8Form is what the formats without infinity differ by, as
// float8NormalAVX512 reads it.
type float8Form [5*64 + 16]byte

// formOf makes the form of a format of man bits of mantissa, of whose codes those
// that are none in their part are NaN.
func formOf(f Float, man int, part, none byte) *float8Form {
	p := new(float8Form)
	word := func(at int, w uint16) { binary.LittleEndian.PutUint16(p[at:], w) }
	first := 1 << man // the first code that is not subnormal
	for i := range 16 {
		putFloat(p[4*i:], f.Value(uint8(i)))
	}
	for i := range 32 { // the two tables: codes below 32, and the others
		at, exponent := first+i%first, i/first-1
		word(192+2*i, uint16(2*at+1))
		word(256+2*i, uint16(exponent<<7))
		if exponent < 0 {
			at, exponent = i, 0
		}
		word(64+2*i, uint16(2*at+1))
		word(128+2*i, uint16(exponent<<7))
	}
	word(320, uint16(7-man))
	word(322, 0x8000|0x60<<(7-man))
	p[324], p[325] = part, none
	r := float8Range[f]
	binary.LittleEndian.PutUint32(p[328:], r.least)
	binary.LittleEndian.PutUint32(p[332:], r.most-r.least)
	return p
}

var float8Forms = [Floats8]*float8Form{
	E4M3:     formOf(E4M3, 3, 0x7F, 0x7F),
	E4M3FNUZ: formOf(E4M3FNUZ, 3, 0xFF, 0x80),
	E5M2FNUZ: formOf(E5M2FNUZ, 2, 0xFF, 0x80),
}

// normalFloat8 decodes runs whose products are normal by their mantissas, and
// the others, with some that follow, by k.
func normalFloat8(f Float, k float8Kernel) float8Kernel {
	form := float8Forms[f]
	if form == nil {
		return k
	}
	return func(dst, src *byte, a, b *float32, chunks, n int) {
		for {
			done := float8NormalAVX512(dst, src, a, &form[0], chunks, n)
			if n -= done; n == 0 {
				return
			}
			skip := func(runs int) {
				codes := runs * chunks * kernelChunk
				dst, src, a = after(dst, 2*codes), after(src, codes), after(a, runs)
			}
			skip(done)
			odd := min(n, 16)
			k(dst, src, a, a, chunks, odd)
			if n -= odd; n == 0 {
				return
			}
			skip(odd)
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
