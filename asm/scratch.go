package asm

import (
	"sync"
	"unsafe"
)

// tileElems is how many numbers are held as float32 at a time: 16 KiB, half of the
// smallest first-level cache, so that inputs and outputs stay there too.
const tileElems = 4096

// A tile is scratch memory. Arguments of a function variable escape, so it cannot be on
// the stack.
type tile struct {
	floats [tileElems]float32
}

var tiles = sync.Pool{New: func() any { return new(tile) }}

func scratch() *tile { return tiles.Get().(*tile) }

func (t *tile) free() { tiles.Put(t) }

// Raw returns the memory of numbers as bytes, for scratch that holds other things.
func Raw(f []float32) []byte {
	if len(f) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&f[0])), 4*len(f))
}

// Raw32 returns the memory of numbers as integers.
func Raw32(f []float32) []uint32 {
	if len(f) == 0 {
		return nil
	}
	return unsafe.Slice((*uint32)(unsafe.Pointer(&f[0])), len(f))
}
