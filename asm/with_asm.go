//go:build !purego && (amd64 || arm64)

package asm

// with is the kernel of entries that differ by a constant alone, told that of one.
func with[D, C any](kernel func(dst *D, src *byte, c C, n int), c C) func(dst *D, src *byte, n int) {
	return func(dst *D, src *byte, n int) { kernel(dst, src, c, n) }
}

// takesAll is a kernel that never stops.
func takesAll(kernel func(dst, src *byte, n int)) blockKernel {
	return func(dst, src *byte, n int) int {
		kernel(dst, src, n)
		return 0
	}
}

// What the nibbles of Q4_0 and of IQ4_NL stand for.
var (
	minus8Codebook = [16]int8{-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7}
	iq4Codebook    = func() (codebook [16]int8) {
		for i, v := range iq4Values {
			codebook[i] = int8(v)
		}
		return codebook
	}()
)
