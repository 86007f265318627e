package asm

import (
	"encoding/binary"
	"slices"
)

// HalfBytes decodes codes of four bits or less, one of each byte: that at bit
// From, of which the lowest four bits count. The operation is Shift:
// (book[q]-z)*s.
type HalfBytes struct {
	From uint8
	Book *[16]float32
}

// shifts are how far a code lies from the bottom.
var shifts = [8]uint64{0, 1, 2, 3, 4, 5, 6, 7}

// HalfBytes decodes one code of each byte.
func (o *Ops) HalfBytes(c HalfBytes, to Type, dst, src []byte, a, b []float32, run int) {
	want(len(dst) == len(src)*to.Size(), "codes and numbers differ in count")
	want(c.From < 8, "a code above a byte")
	split(len(src), run, Shift, a, b)
	apart(dst, src)
	shift := &shifts[c.From]
	book := c.Book
	if c.From > 4 { // what a kernel finds above the byte does not count
		book = new([16]float32)
		for i := range book {
			book[i] = c.Book[i&(0xFF>>c.From)]
		}
	}
	var kernel func(r, runs, chunks, at int)
	if k := o.halfBytes[to]; k != nil {
		kernel = func(r, runs, chunks, at int) {
			k(&dst[at*to.Size()], &src[at], &a[r], &b[r], &book[0], shift, chunks, runs)
		}
	}
	eachRun(len(src), run, kernelChunk, kernel, func(r, start, end int) {
		scalarRun(to, dst[start*to.Size():], end-start, func(i int) float32 {
			return Shift.join(c.Book[src[start+i]>>*shift&15], a[r], b[r])
		})
	})
}

// Gather looks codes, of which the lower four bits count, up in the table of their group: element i is
// number groups[i]+codes[i] of the table, whose groups have 16 numbers each. A
// group is the index of its first number.
func (o *Ops) Gather(to Type, dst, codes []byte, groups []uint16, table []byte) {
	n := len(codes)
	want(len(dst) == n*to.Size() && len(groups) == n && len(table)%(16*to.Size()) == 0, "codes and numbers differ in count")
	apart(dst, codes)
	apart(dst, table)
	want(n == 0 || within(groups, len(table)/to.Size()-16), "a group that the table has not")
	which, done := F32, 0
	if to != F32 {
		which = BF16 // any two bytes
	}
	if kernel := o.gather[which]; kernel != nil && n >= 16 {
		kernel(&dst[0], &codes[0], &groups[0], &table[0], n/16)
		done = n &^ 15
	}
	for i := done; i < n; i++ {
		at := int(groups[i]) + int(codes[i]&15)
		if to == F32 {
			binary.LittleEndian.PutUint32(dst[4*i:], u32(table[4*at:]))
		} else {
			binary.LittleEndian.PutUint16(dst[2*i:], u16(table[2*at:]))
		}
	}
}

// within reports that no index is above most. All bits that any has make a
// number that none is above, which is quick, and mostly enough.
func within(p []uint16, most int) bool {
	all := uint16(0)
	for q := p; ; q = q[8:] {
		if len(q) < 8 {
			for _, v := range q {
				all |= v
			}
			break
		}
		e := q[:8]
		all |= e[0] | e[1] | e[2] | e[3] | e[4] | e[5] | e[6] | e[7]
	}
	return int(all) <= most || int(slices.Max(p)) <= most
}
