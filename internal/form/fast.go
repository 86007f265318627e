package form

import "github.com/anamnesis-go/anamnesis/asm"

// FastRow is four outputs of n inputs in a stored row.
func FastRow(n int64) Codes {
	return Codes{rowBytes: 2 * n, perRow: 4, pick: fastNibbles, under: underFast, rooms: 2}
}

// underFast puts the codes of a row in their order: of a word's four nibbles
// each belongs to the inputs of its own eight.
func underFast(o *asm.Ops, to asm.Type, dst, row []byte, u under) bool {
	n := len(dst) / to.Size()
	a, b := u.codes[:n], u.codes[n:2*n]
	for at := 0; at < n/2; at += 32 {
		copy(b[at:][:32], row[4*at+32*int(u.sub):])
	}
	o.Spread(a, b[:n/2])
	o.Lanes(b, a, n/4)
	o.Transpose(8, a, b, 4, n/32, asm.Strides{To: 32, From: n / 4})
	return underBytes(asm.Bytes{Unsigned: true})(o, to, dst, a, u)
}

// fastNibbles unpacks output r of the four in a stored row. Input k lies in its
// block of 64 at the place where the kernel's threads want it: of 32 inputs the
// pairs of each eight are gathered by pair, and four inputs share a word.
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
