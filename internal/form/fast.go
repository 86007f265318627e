package form

import "github.com/anamnesis-go/anamnesis/asm"

// FastRow returns stored rows that hold four outputs of n inputs.
func FastRow(n int64) Codes {
	return Codes{rowBytes: 2 * n, perRow: 4, pick: fastNibbles, decodeScaled: scaledFast, roomBytes: 2}
}

// scaledFast puts the codes of a row in order: each of the four nibbles of a word belongs
// to another eight inputs.
func scaledFast(o *asm.Ops, to asm.Type, dst, row []byte, u rowScales) bool {
	n := len(dst) / to.Size()
	a, b := u.codes[:n], u.codes[n:2*n]
	for at := 0; at < n/2; at += 32 {
		copy(b[at:][:32], row[4*at+32*int(u.sub):])
	}
	o.Spread(a, b[:n/2])
	o.Lanes(b, a, n/4)
	o.Transpose(8, a, b, 4, n/32, asm.Strides{To: 32, From: n / 4})
	return scaledBytes(asm.Bytes{Unsigned: true})(o, to, dst, a, u)
}

// fastNibbles unpacks output r of the four in a stored row. The inputs of a block of 64
// are in the order of the kernel's threads: in 32 inputs, the corresponding pairs of each
// eight are adjacent, and four inputs share a word.
func fastNibbles(dst []float32, src []byte, r int64) {
	row := src[r/4*2*int64(len(dst)):]
	for k := range int64(len(dst)) {
		k32 := k % 32
		at := 32*(k/32) + k32%8/2*8 + k32%2*4 + k32/8
		slot := r%4*64 + at%64
		word := u16(row[2*(64*(at/64)+slot/4):])
		dst[k] = float32(word >> (4 * (slot % 4)) & 15)
	}
}
