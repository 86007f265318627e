//go:build amd64 && !purego

package asm

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// A stretch is n runs: the destination, the codes, and the numbers that they are joined
// with.
type stretch struct {
	dst, src *byte
	a, b     *float32
	n        int
}

// from returns the runs after the first ones, by the bytes that each run writes and reads.
func (s stretch) from(runs, out, in int) stretch {
	if s.n -= runs; s.n > 0 {
		s.dst, s.src, s.a, s.b = after(s.dst, runs*out), after(s.src, runs*in), after(s.a, runs), after(s.b, runs)
	}
	return s
}

// above decodes runs with a kernel that stops at runs that are not ordinary. The level
// below decodes sixteen of them, and twice as many each time the next ones are not
// ordinary either.
func (s stretch) above(out, in int, kernel func(stretch) (left int), below func(stretch)) {
	const least, most = 16, 1024
	for some := least; s.n > 0; {
		left := kernel(s)
		if left == s.n {
			some = min(2*some, most)
		} else {
			some = least
		}
		if s = s.from(s.n-left, out, in); s.n > 0 {
			odd := s
			odd.n = min(s.n, some)
			below(odd)
			s = s.from(odd.n, out, in)
		}
	}
}

// after returns the address i elements after p.
func after[T any](p *T, i int) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(p), uintptr(i)*unsafe.Sizeof(*p)))
}

// bytesAbove returns a kernel of bytes that falls back to the level below.
func bytesAbove(to Type, kernel func(dst, src *byte, a, b *float32, flip *byte, last *float32, chunks, n int) (left int), below bytesKernel) bytesKernel {
	return func(dst, src *byte, a, b *float32, flip *byte, last *float32, chunks, n int) {
		stretch{dst, src, a, b, n}.above(chunks*kernelChunk*to.Size(), chunks*kernelChunk, func(s stretch) int {
			return kernel(s.dst, s.src, s.a, s.b, flip, last, chunks, s.n)
		}, func(s stretch) { below(s.dst, s.src, s.a, s.b, flip, last, chunks, s.n) })
	}
}

// nibblesAbove returns a kernel of nibbles that falls back to the level below, also for
// codebooks that it does not handle; high is 1 if the first of two codes is the high
// nibble.
func nibblesAbove(to Type, high int, kernel func(dst, src *byte, a, b *float32, codebook *float32, order *byte, chunks, n int) (left int), below codebookKernel) codebookKernel {
	order := nibbleOrder(to, high)
	return func(dst, src *byte, a, b *float32, codebook *float32, chunks, n int) {
		if !ordinaryCodebook(codebook) {
			below(dst, src, a, b, codebook, chunks, n)
			return
		}
		stretch{dst, src, a, b, n}.above(chunks*kernelChunk*to.Size(), chunks*kernelChunk/2, func(s stretch) int {
			return kernel(s.dst, s.src, s.a, s.b, codebook, &order[0], chunks, s.n)
		}, func(s stretch) { below(s.dst, s.src, s.a, s.b, codebook, chunks, s.n) })
	}
}

// ordinaryCodebook reports a codebook whose numbers are zero or from 2^-20 to 2^31.
func ordinaryCodebook(codebook *float32) bool {
	for _, v := range unsafe.Slice(codebook, 16) {
		magnitude := math.Float32bits(v) &^ (1 << 31)
		if magnitude != 0 && (magnitude < (127-20)<<23 || magnitude >= (127+31)<<23) {
			return false
		}
	}
	return true
}

// nibbleOrder is the place, in bits of eight bytes, where each byte of an index
// is cut out: its nibble, and below it as many bits as say which of a number's bytes
// it is for. Indices are words, to F32 dwords.
func nibbleOrder(to Type, high int) (order [64]byte) {
	width, below := 2, [...]int{F32: 0, BF16: 2, F16: 1}[to]
	if to == F32 {
		width = 4
	}
	for i := range order {
		order[i] = byte(4*(i/width%16^high)-below) & 63
	}
	return order
}

// float8Above returns a kernel of small floats that falls back to the level below. form
// describes the format. Kernels to F32 and F16 take two chunks in one step.
func float8Above(to Type, kernel func(dst, src *byte, a, b *float32, form *byte, chunks, n int) (left int), form *byte, below float8Kernel) float8Kernel {
	return func(dst, src *byte, a, b *float32, chunks, n int) {
		if to != BF16 && chunks%2 != 0 {
			below(dst, src, a, b, chunks, n)
			return
		}
		stretch{dst, src, a, b, n}.above(chunks*kernelChunk*to.Size(), chunks*kernelChunk, func(s stretch) int {
			return kernel(s.dst, s.src, s.a, s.b, form, chunks, s.n)
		}, func(s stretch) { below(s.dst, s.src, s.a, s.b, chunks, s.n) })
	}
}

// float8Words is the words of codes without a sign as bfloat16, which they are
// exactly: all low bytes, then all high ones. A NaN is FFC0.
var float8Words = func() (t [E5M2 + 1][256]byte) {
	for f := range t {
		for i := range 128 {
			w := FloatToBfloat(Float(f).Value(uint8(i)))
			if w > 0x7F80 {
				w = 0xFFC0
			}
			t[f][i], t[f][128+i] = byte(w), byte(w>>8)
		}
	}
	return t
}()

// A float8Form is what differs between formats, as float8BF16AVX512 reads it.
type float8Form [4*64 + 20]byte

var float8Mantissas = [floats8]float8Form{E4M3: formOf(E4M3, 3), E5M2: formOf(E5M2, 2), E4M3FNUZ: formOf(E4M3FNUZ, 3)}

// formOf returns the form of a format with man bits of mantissa.
func formOf(f Float, man int) (p float8Form) {
	const (
		special, others, added, singles = 128, 64, 192, 256
		infinite                        = 15 // where the numbers have infinity, if the format has it
	)
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
	for i, v := range []uint32{
		uint32(7 - man), uint32(most) << 7 * 0x10001, uint32(most-1) << 7 * 0x10001, uint32(numeric), uint32(numeric >> 32),
	} {
		binary.LittleEndian.PutUint32(p[singles+4*i:], v)
	}
	return p
}
