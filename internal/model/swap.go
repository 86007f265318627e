package model

import (
	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Swapped returns the size of the numbers whose bytes must be swapped, 0 for none.
func Swapped(i *tensor.Info) int64 {
	g, _ := i.DType.Geometry()
	switch {
	case i.Order == tensor.Little || g.Elems != 1 || g.Bytes == 1:
		return 0
	case i.DType == tensor.C32 || i.DType == tensor.C64 || i.DType == tensor.C128:
		return int64(g.Bytes) / 2
	default:
		return int64(g.Bytes)
	}
}

// Swap reverses the bytes of each number of size bytes, if there are such.
func Swap(p []byte, size int64) {
	if size != 2 && size != 4 && size != 8 {
		return
	}
	var piece [4096]byte
	for ops := asm.Best(); len(p) > 0; {
		n := copy(piece[:], p)
		ops.Swap(int(size), p[:n], piece[:n])
		p = p[n:]
	}
}
