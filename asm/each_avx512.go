//go:build amd64 && !purego

package asm

import "unsafe"

var eachAVX512 = [3]func(dst *byte, src, a, b *float32, n int){
	F32:  eachPairs(F32, eachF32AVX512),
	BF16: eachPairs(BF16, eachBF16AVX512),
	F16:  eachPairs(F16, eachF16AVX512),
}

// eachPairs is for kernels that take twice as many numbers at once as the level
// below, which does what is left.
func eachPairs(to Type, kernel func(dst, src *byte, a, b *float32, n int)) func(dst *byte, src, a, b *float32, n int) {
	last := [3]func(dst *byte, src, a, b *float32, n int){F32: eachF32AVX2, BF16: eachBF16AVX2, F16: eachF16AVX2}[to]
	return func(dst *byte, src, a, b *float32, n int) {
		if n > 1 {
			kernel(dst, (*byte)(unsafe.Pointer(src)), a, b, n/2)
		}
		if at := n &^ 1 * eachChunk; n&1 != 0 {
			last(after(dst, at*to.Size()), after(src, at), after(a, at), after(b, at), 1)
		}
	}
}
