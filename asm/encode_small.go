package asm

// A smallGroups is a type of blocks of 32 numbers with a scale, and perhaps a minimum,
// each, whose search with a matrix runs in sixteen lanes.
type smallGroups struct {
	head, size int  // bytes before the codes, and of a block
	half       int  // of the codes, or 0
	top        int  // the largest code where the least number is code 0, or 0
	fifth      bool // codes have five bits
}

var (
	smallQ4_0 = smallGroups{head: 2, size: 18, half: 8}
	smallQ4_1 = smallGroups{head: 4, size: 20, top: 15}
	smallQ5_0 = smallGroups{head: 2, size: 22, half: 16, fifth: true}
	smallQ5_1 = smallGroups{head: 4, size: 24, top: 31, fifth: true}
)

// encodeLanes writes a row with a matrix.
func (k *smallGroups) encodeLanes(o *Ops, dst []byte, src, matrix []float32) {
	room := searches.Get().(*searched)
	defer searches.Put(room)
	l, s := &room.lanes, withMatrix
	kernel, trials, least, most := o.search.symmetric, symmetricTrials, -k.half, k.half-1
	if s.top = k.top; k.half > 0 {
		l.symmetric(k.half)
	} else {
		kernel, trials, least, most = o.search.affine[0], s.steps+1, 0, k.top
		l.affine(&s)
	}
	mean := squares(src) / float32(len(src))
	for i := range l.mean {
		l.mean[i] = mean
	}
	for at := 0; at < len(src); at += 16 * 32 {
		x := src[at:min(len(src), at+16*32)]
		n, m := len(x)/32, matrix[at:][:len(x)]
		o.load(&l.x, x, 32)
		l.weigh(o, byMatrix, m, 32)
		kernel(&l.x[0], 32, trials)
		l.inverses(k.half == 0)
		l.limits = between(least, most)
		o.search.times(&room.codes[0], &x[0], &l.trial[0], &l.base[0], &l.limits[0], 2, n)
		for g := range n {
			p, c := dst[(at/32+g)*k.size:][:k.size], room.codes[32*g:][:32]
			if k.half > 0 {
				if l.high[g] < tinyGroup {
					l.scale[g] = 0
					clear(c)
				}
				putHalf(p, l.scale[g])
			} else if low := min(l.least[g], 0); low == l.high[g] {
				clear(c)
				putHalf(p, 0)
				putHalf(p[2:], low)
			} else if l.bad[g] != 0 {
				putAffine(p, c, x[32*g:][:32], m[32*g:][:32], mean, k.top)
			} else {
				putHalf(p, l.scale[g])
				putHalf(p[2:], l.low[g])
			}
			if p = p[k.head:]; k.fifth {
				fifthBits(p, c)
				p = p[4:]
			}
			nibbles(p, c)
		}
	}
}

// inverses computes what codes are made with: reciprocals, and the negated least numbers.
func (l *lanes) inverses(affine bool) {
	for g := range l.trial {
		if affine {
			l.trial[g] /= l.high[g] - l.base[g]
			l.base[g] = -l.base[g]
		} else {
			l.trial[g] /= l.largest[g]
			l.base[g] = 0
		}
	}
}
