package asm

import (
	"sync"
	"unsafe"
)

// tileElems is how many numbers pass through float32 at a time: 16 KiB, half of the
// smallest first cache, so that what is read and written beside them stays there too.
const tileElems = 4096

// A tile is scratch memory. What a function variable is given escapes, so it
// cannot stand on the stack.
type tile struct {
	floats [tileElems]float32
}

var tiles = sync.Pool{New: func() any { return new(tile) }}

func scratch() *tile { return tiles.Get().(*tile) }

func (t *tile) free() { tiles.Put(t) }

// Raw is the memory of numbers, for scratch that holds other things.
func Raw(f []float32) []byte {
	if len(f) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 4*len(f))
}

// Raw32 is the memory of numbers as integers.
func Raw32(f []float32) []uint32 {
	if len(f) == 0 {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(&f[0])), len(f))
}
