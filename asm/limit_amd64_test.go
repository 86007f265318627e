//go:build !purego

package asm

// plainStores writes dst from src as fast as plain stores can.
func plainStores(dst, src []byte) {
	n := len(dst) / 64
	limitAVX2(&dst[0], &src[0], max(16, min(32, len(src)/n)), min(n, len(src)/max(16, min(32, len(src)/n))))
}
