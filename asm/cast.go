package asm

import "unsafe"

// castChunk is how many numbers the kernels convert in one step.
const castChunk = 32

// Cast converts numbers of one type to another, rounded once. Every NaN becomes the
// canonical NaN of the type, even if both types are the same.
func (o *Ops) Cast(from, to Type, dst, src []byte) {
	n := len(src) / from.Size()
	want(n*from.Size() == len(src) && n*to.Size() == len(dst), "numbers differ in count")
	apart(dst, src)
	if kernel := o.cast[from][to]; kernel != nil && n >= castChunk {
		kernel(&dst[0], &src[0], n/castChunk)
		done := n &^ (castChunk - 1)
		dst, src, n = dst[done*to.Size():], src[done*from.Size():], n-done
	}
	scalarCast(from, to, dst, src, n)
}

func scalarCast(from, to Type, dst, src []byte, n int) {
	var f [64]float32
	for at := 0; at < n; at += len(f) {
		m := min(len(f), n-at)
		from.get(f[:m], src[at*from.Size():])
		to.put(dst[at*to.Size():], f[:m])
	}
}

// Put is Cast from float32 in memory.
func (o *Ops) Put(to Type, dst []byte, src []float32) {
	want(len(src)*to.Size() == len(dst), "numbers differ in count")
	apart(dst, Raw(src))
	if kernel := o.cast[F32][to]; kernel != nil && len(src) >= castChunk {
		// Levels that have kernels are little-endian.
		o.Cast(F32, to, dst, unsafe.Slice((*byte)(unsafe.Pointer(&src[0])), 4*len(src)))
		return
	}
	to.put(dst, src)
}
