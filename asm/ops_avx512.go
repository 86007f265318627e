//go:build amd64 && !purego

package asm

// avx512 overwrites what has a kernel of 64-byte registers; the level is named
// with the first of them.
func (o *Ops) avx512() {}
