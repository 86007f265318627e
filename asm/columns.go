package asm

import "math"

// Columns are the columns of a matrix of words, each of which holds eight
// nibbles, the lowest first: those of a column are a row of what is written. A
// nibble belongs to the group of its place in the row, and a group has a scale
// and a zero point for each column.
type Columns struct {
	Words, Count  int       // rows of words, columns
	Groups        []uint32  // of each nibble of a row
	Scales, Zeros []float32 // [groups][columns]
	Room          []float32 // twice as many as scales, for the kernels
}

// columnsAtOnce is how many columns the kernels take.
const columnsAtOnce = 8

// Columns decodes nibbles: (q-z)*s. Rows are dstStride and srcStride bytes
// apart.
func (o *Ops) Columns(c Columns, to Type, dst, src []byte, dstStride, srcStride int) {
	if c.Words == 0 || c.Count == 0 {
		return
	}
	size, groups := to.Size(), len(c.Scales)/max(1, c.Count)
	want(c.Words > 0 && c.Count > 0 && 4*c.Count <= srcStride && 8*c.Words*size <= dstStride, "rows that overlap")
	want(len(src) >= (c.Words-1)*srcStride+4*c.Count && len(dst) >= (c.Count-1)*dstStride+8*c.Words*size, "matrices differ in size")
	want(len(c.Groups) == 8*c.Words && len(c.Scales) == groups*c.Count && len(c.Zeros) == len(c.Scales) && len(c.Room) >= 2*len(c.Scales), "columns without numbers")
	apart(dst, src)
	apart(Raw(c.Room), src)
	apart(Raw(c.Room), dst)
	for _, g := range c.Groups {
		want(int(g) < groups, "a group without numbers")
	}
	done := 0
	if kernel := o.columns[to]; kernel != nil {
		done = c.Count &^ (columnsAtOnce - 1)
		c.kernels(kernel, size, dst, src, dstStride, srcStride, groups)
	}
	for i := done; i < c.Count; i++ {
		row := dst[i*dstStride:]
		for w := range c.Words {
			word := u32(src[w*srcStride+4*i:])
			scalarRun(to, row[8*w*size:], 8, func(k int) float32 {
				g := int(c.Groups[8*w+k])*c.Count + i
				return Shift.join(float32(word>>(4*k)&15), c.Scales[g], c.Zeros[g])
			})
		}
	}
}

// kernels takes squares of eight words and as many columns, those beside each
// other first: their words share lines of the caches.
func (c *Columns) kernels(kernel func(dst, src *byte, offsets *uint32, scales, zeros *float32, dstStride, srcStride, n int), size int, dst, src []byte, dstStride, srcStride, groups int) {
	const rows = 8
	var offsets [8 * rows]uint32
	blocks := c.Count / columnsAtOnce
	if blocks == 0 {
		return
	}
	scales, zeros := c.Room[:len(c.Scales)], c.Room[len(c.Scales):]
	for b := range blocks {
		for g := range groups {
			at, to := g*c.Count+b*columnsAtOnce, (b*groups+g)*columnsAtOnce
			for j := range columnsAtOnce {
				scales[to+j], zeros[to+j] = canonical(-c.Scales[at+j]), canonical(c.Zeros[at+j])
			}
		}
	}
	for w := 0; w < c.Words; w += rows {
		n := min(rows, c.Words-w)
		for i, g := range c.Groups[8*w:][:8*n] {
			offsets[i] = 4 * columnsAtOnce * g
		}
		for b := range blocks {
			at := b * groups * columnsAtOnce
			kernel(&dst[b*columnsAtOnce*dstStride+8*w*size], &src[w*srcStride+4*columnsAtOnce*b], &offsets[0], &scales[at], &zeros[at], dstStride, srcStride, n)
		}
	}
}

// canonical makes each NaN the one that kernels want.
func canonical(f float32) float32 {
	if f != f {
		return math.Float32frombits(0xFFC00000)
	}
	return f
}
