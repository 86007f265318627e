//go:build amd64 && !purego

package asm

import "unsafe"

// eachBF16 is a kernel that takes twice as many numbers at once as the level
// below, which does what is left.
func eachBF16(dst *byte, src, a, b *float32, n int) {
	if n > 1 {
		eachBF16AVX512(dst, (*byte)(unsafe.Pointer(src)), a, b, n/2)
	}
	if at := n &^ 1 * eachChunk; n&1 != 0 {
		eachBF16AVX2(after(dst, at*BF16.Size()), after(src, at), after(a, at), after(b, at), 1)
	}
}
