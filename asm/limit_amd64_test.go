//go:build !purego

package asm

// plainStores writes dst from src with plain stores, as a bound for kernels.
func plainStores(dst, src []byte) {
	n := len(dst) / 64
	step := len(src) / n
	limitAVX2(&dst[0], &src[0], step, min(n, (len(src)-32)/step+1))
}
