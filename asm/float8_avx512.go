//go:build amd64 && !purego

package asm

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// float8Kinds is how many formats of eight bits have kernels: E5M2FNUZ, which no
// published model has, has none.
const float8Kinds = int(E4M3FNUZ) + 1

// float8Range is the biased exponents of scales that give products that are all
// normal: from that of the least number above zero, 2^(1-bias-man), to that of
// the largest, below 2^9 or 2^16.
var float8Range = [float8Kinds]struct{ least, most uint32 }{
	E4M3:     {127 - 117, 127 + 118},
	E5M2:     {127 - 110, 127 + 111},
	E4M3FNUZ: {127 - 116, 127 + 118},
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

// normalFloat8 decodes to BF16. Runs whose products are normal go by their mantissas; where
// one is not, it and some that follow by the kernel of the level below.
func normalFloat8(f Float, below float8Kernel) float8Kernel {
	const some = 1024 // chunks
	form := &float8Forms[f][0]
	return func(dst, src *byte, a, b *float32, chunks, n int) {
		skip := func(done int) bool {
			codes := done * chunks * kernelChunk
			if n -= done; n > 0 {
				dst, src, a = after(dst, 2*codes), after(src, codes), after(a, done)
			}
			return n == 0
		}
		for !skip(float8NormalAVX512(dst, src, a, form, chunks, n)) {
			done := min(n, max(1, some/chunks))
			below(dst, src, a, a, chunks, done)
			if skip(done) {
				return
			}
		}
	}
}

// after is the number i places behind the first.
func after[T any](p *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), uintptr(i)*unsafe.Sizeof(*p)))
}
