//go:build !purego

package asm

// features: every processor of this kind has NEON.
func features() Features { return Features(0).with(neon) }
