package asm

import (
	"encoding/binary"
	"math/bits"
)

// Expand writes numbers of 1, 2 or 4 bytes at the set bits of a mask, the lowest bit of a
// byte first, and zeros elsewhere. There must be as many numbers as set bits, and no set
// bit after the last position.
func (o *Ops) Expand(size int, dst, src, mask []byte) {
	want(size == 1 || size == 2 || size == 4, "numbers of that size")
	n := len(dst) / size
	want(n*size == len(dst) && len(mask) == (n+7)/8 && Ones(mask)*size == len(src), "a mask of other numbers")
	want(n%8 == 0 || mask[n/8]>>(n%8) == 0, "bits behind the end")
	apart(dst, src)
	apart(dst, mask)
	done := 0
	if kernel := o.expand[size]; kernel != nil && n >= 8 {
		if len(src) >= 8*size {
			done = n/8 - kernel(&dst[0], &src[0], &src[len(src)-8*size], &mask[0], n/8)
			src = src[Ones(mask[:done])*size:]
		}
		if done < n/8 { // fewer than eight numbers are left, for a mask of any length
			s := scratch()
			defer s.free()
			room := Raw(s.floats[:16])
			copy(room, src)
			kernel(&dst[8*done*size], &room[0], &room[8*size], &mask[done], n/8-done)
			src = src[Ones(mask[done:n/8])*size:]
			done = n / 8
		}
	}
	for i := 8 * done; i < n; i++ {
		to := dst[i*size:][:size]
		if mask[i/8]>>(i%8)&1 == 0 {
			clear(to)
			continue
		}
		src = src[copy(to, src):]
	}
}

// Ones counts the set bits.
func Ones(p []byte) (n int) {
	for ; len(p) >= 8; p = p[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(p))
	}
	for _, b := range p {
		n += bits.OnesCount8(b)
	}
	return n
}
