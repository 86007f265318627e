package asm

import "math"

// Columns are the columns of a packed matrix as GPTQ stores a weight: words of 32 bits, each
// with eight codes of four bits or four of eight, the lowest first. The words of a column lie
// one below the other, and their codes become a row of the output. Groups says to which group
// the code at each position of a row belongs; a group has a scale and a zero point for each
// column.
type Columns struct {
	Bits          int       // 4 or 8
	Words, Count  int       // words of a column, columns
	Groups        []uint32  // for each position of a row, the index of its group
	Scales, Zeros []float32 // [groups][columns]
	Room          []float32 // scratch memory for the kernels: zero points, and scales that may be doubles
}

// A columnsKernel takes negated scales. To F32 they are doubles where float32 products may
// be subnormal.
type columnsKernel = func(dst, src *byte, offsets *uint32, scales, zeros *float32, dstStride, srcStride int, doubles bool, n int)

const (
	columnsAtOnce = 8                // columns of one call of a kernel
	codesAtOnce   = 8 * roundsAtOnce // codes of each of these columns
	roundsAtOnce  = 16               // with more, words that lie far apart would not stay in the first cache
)

// columnsWords is how many words, one below the other, hold the eight codes that the
// kernels write together.
var columnsWords = [...]int{4: 1, 8: 2}

// Columns decodes each code q to (q-z)*s. dstStride and srcStride are the bytes from row to row.
func (o *Ops) Columns(c Columns, to Type, dst, src []byte, dstStride, srcStride int) {
	if c.Words == 0 || c.Count == 0 {
		return
	}
	want(c.Bits == 4 || c.Bits == 8, "codes of that width")
	size, groups, per := to.Size(), len(c.Scales)/max(1, c.Count), 32/c.Bits
	want(c.Words > 0 && c.Count > 0 && 4*c.Count <= srcStride && per*c.Words*size <= dstStride, "rows that overlap")
	want(len(src) >= (c.Words-1)*srcStride+4*c.Count && len(dst) >= (c.Count-1)*dstStride+per*c.Words*size, "matrices differ in size")
	want(len(c.Groups) == per*c.Words && len(c.Scales) == groups*c.Count && len(c.Zeros) == len(c.Scales) && len(c.Room) >= 3*len(c.Scales), "columns without numbers")
	apart(dst, src)
	apart(Raw(c.Room), src)
	apart(Raw(c.Room), dst)
	for _, g := range c.Groups {
		want(int(g) < groups, "a group without numbers")
	}
	words, count := 0, 0 // that kernels have done
	if o.columns[columnsWords[c.Bits]-1][to] != nil {
		words, count = c.Words-c.Words%columnsWords[c.Bits], c.Count&^(columnsAtOnce-1)
		c.kernels(o, to, dst, src, dstStride, srcStride)
	}
	for i := range c.Count {
		first := words
		if i >= count {
			first = 0
		}
		c.scalar(to, dst[i*dstStride:], src[4*i:], srcStride, i, first)
	}
}

// scalar decodes column i from word first on.
func (c *Columns) scalar(to Type, dst, src []byte, srcStride, i, first int) {
	per := 32 / c.Bits
	for w := first; w < c.Words; w++ {
		word := u32(src[w*srcStride:])
		scalarRun(to, dst[per*w*to.Size():], per, func(k int) float32 {
			g := int(c.Groups[per*w+k])*c.Count + i
			return Shift.join(float32(word>>(c.Bits*k)&(1<<c.Bits-1)), c.Scales[g], c.Zeros[g])
		})
	}
}

// kernels decodes eight columns and a number of their codes at a time, neighboring columns
// first, since their words share cache lines. Subnormal products delay a float32
// multiplication. If they are zero as float16 anyway, the scales are raised; otherwise the
// kernels multiply in double precision.
func (c *Columns) kernels(o *Ops, to Type, dst, src []byte, dstStride, srcStride int) {
	var offsets [codesAtOnce]uint32
	groups, blocks, per := len(c.Scales)/c.Count, c.Count/columnsAtOnce, columnsWords[c.Bits]
	if blocks == 0 {
		return
	}
	size := to.Size()
	zeros, scales := c.Room[:len(c.Scales)], c.Room[len(c.Scales):]
	doubles := c.stalls()
	raise := doubles && to == F16 && c.vanish()
	doubles = doubles && !raise
	c.gather(o, zeros, scales, groups, doubles, raise)
	t := scratch()
	defer t.free()
	for w := 0; w < c.Words/per; w += roundsAtOnce {
		n := min(roundsAtOnce, c.Words/per-w)
		for i, g := range c.Groups[8*w:][:8*n] {
			offsets[i] = 4 * columnsAtOnce * g
		}
		for b := range blocks {
			at, p, q := b*groups*columnsAtOnce, dst[b*columnsAtOnce*dstStride+8*w*size:], &src[w*per*srcStride+4*columnsAtOnce*b]
			switch {
			case !doubles:
				o.columns[per-1][to](&p[0], q, &offsets[0], &scales[at], &zeros[at], dstStride, srcStride, false, n)
			case to == F32:
				o.columns[per-1][F32](&p[0], q, &offsets[0], &scales[2*at], &zeros[at], dstStride, srcStride, true, n)
			default: // by way of float32
				o.columns[per-1][F32](&Raw(t.floats[:])[0], q, &offsets[0], &scales[2*at], &zeros[at], 4*codesAtOnce, srcStride, true, n)
				for i := range columnsAtOnce {
					from, out := t.floats[i*codesAtOnce:][:8*n], p[i*dstStride:][:8*n*size]
					if cast := o.cast[F32][to]; cast != nil && 8*n%castChunk == 0 {
						cast(&out[0], &Raw(from)[0], 8*n/castChunk)
					} else {
						o.Put(to, out, from)
					}
				}
			}
		}
	}
}

// gather copies the numbers of eight columns each to one place, with scales as the kernels
// need them.
func (c *Columns) gather(o *Ops, zeros, scales []float32, groups int, doubles, raise bool) {
	nan, _ := o.Special(F32, Raw(c.Scales))
	more, _ := o.Special(F32, Raw(c.Zeros))
	var wide [columnsAtOnce]float32
	for b := range c.Count / columnsAtOnce {
		for g := range groups {
			at, to := g*c.Count+b*columnsAtOnce, (b*groups+g)*columnsAtOnce
			s, z := &wide, (*[columnsAtOnce]float32)(zeros[to:])
			if !doubles {
				s = (*[columnsAtOnce]float32)(scales[to:])
			}
			*z = [columnsAtOnce]float32(c.Zeros[at:])
			for j, f := range (*[columnsAtOnce]float32)(c.Scales[at:]) {
				s[j] = -f
			}
			for j := 0; j < columnsAtOnce && nan+more > 0; j++ {
				s[j], z[j] = canonical(s[j]), canonical(z[j])
			}
			for j := 0; j < columnsAtOnce && raise; j++ {
				s[j], z[j] = raised(s[j]), raised(z[j])
			}
			if !doubles {
				continue
			}
			words := Raw32(scales[2*to:][:2*columnsAtOnce])
			for j, f := range wide {
				d := math.Float64bits(float64(f))
				words[2*j], words[2*j+1] = uint32(d), uint32(d>>32)
			}
		}
	}
}
