//go:build !purego && (amd64 || arm64)

package asm

// with is the kernel of entries that differ by a constant alone, told that of one.
func with[D, C any](kernel func(dst *D, src *byte, c C, n int), c C) func(dst *D, src *byte, n int) {
	return func(dst *D, src *byte, n int) { kernel(dst, src, c, n) }
}

// minus8Values is what the nibbles of Q4_0 come to.
var minus8Values = [16]int8{-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}
