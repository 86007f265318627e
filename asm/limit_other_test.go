//go:build purego || !amd64

package asm

// plainStores is what copying reaches where there is no kernel to measure with.
func plainStores(dst, src []byte) {
	for len(dst) > 0 {
		dst = dst[copy(dst, src):]
	}
}
