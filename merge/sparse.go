package merge

import (
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
)

// kept says which numbers of a difference are kept: all; those larger than one, and of
// its equals those up to a place; none; or random ones.
type kept struct {
	how   sparsity
	none  bool
	bits  uint32  // of the smallest magnitude that is kept
	last  int64   // the last place at which that magnitude is
	least uint64  // random numbers below keep theirs; it is even
	scale float32 // 0 is none
}

// thin makes zero what is not kept. Which are kept is as good as random, so nothing
// branches on it.
func (s *kept) thin(d []float32, first int64, key uint64) {
	switch {
	case s.none:
		clear(d)
	case s.how == keepLargest:
		equal := int(max(0, min(int64(len(d)), s.last+1-first))) // so far equals are kept
		thinBelow(d[:equal], int64(s.bits))
		thinBelow(d[equal:], int64(s.bits)+1)
	case s.how == keepRandom:
		for k, f := range d {
			d[k] = math.Float32frombits(math.Float32bits(f) & s.random(key, uint64(first)+uint64(k)))
		}
	}
}

// thinBelow makes smaller magnitudes zero.
func thinBelow(d []float32, least int64) {
	for k, f := range d {
		bits := math.Float32bits(f)
		smaller := uint32((int64(bits&magnitudeBits) - least) >> 63)
		d[k] = math.Float32frombits(bits &^ smaller)
	}
}

// random is all bits if number i of a stream is below the least that is not kept, which
// is even, and no bits else.
func (s *kept) random(key, i uint64) uint32 {
	return uint32((int64(random(key, i)>>1) - int64(s.least>>1)) >> 63)
}

// random is number i of the stream of a key: the output of SplitMix64 (Steele, Lea,
// Flood 2014) for its i-th state, so that any range of a stream is made by itself and is
// the same on every machine.
func random(key, i uint64) uint64 {
	z := key + (i+1)*0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// keyOf is the key of a stream: FNV-1a of a text over the seed, once through random.
func keyOf(seed uint64, text string) uint64 {
	h := uint64(0xCBF29CE484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001B3
	}
	return random(h, seed)
}

// sparsify plans what finds which numbers of the differences are kept.
func (g *group) sparsify(w *work) ([]phase, error) {
	var phases []phase
	bins := &table{b: w.b}
	scaled := false
	for i := range g.inputs {
		s, density := &w.keep[i], g.inputs[i].density
		switch {
		case i == g.base || density >= 1:
			continue // nor scaled
		case density <= 0:
			s.none = true
			continue
		case g.method.sparse == keepRandom:
			s.how, s.least = keepRandom, uint64(math.Ldexp(density, 63))*2
		default:
			more, err := g.threshold(w, i, bins)
			if err != nil {
				return nil, err
			}
			phases = append(phases, more...)
		}
		scaled = true
	}
	if !scaled || g.shared["rescale"] == 0 {
		return phases, nil
	}
	last, err := g.rescale(w)
	return append(phases, last), err
}

// differ gives the numbers of one difference, piece by piece.
func (g *group) differ(r *room, i int, from, to int64, each func(d []float32, first int64)) error {
	return g.pieces(from, to, func(first int64, n int) error {
		err := g.one(r, g.base, first, n)
		if err == nil {
			err = g.one(r, i, first, n)
		}
		d := r.in[i][:n]
		subtract(d, r.in[g.base])
		each(d, first)
		return err
	})
}

// A search is one for the smallest magnitude of the largest so many of a difference.
type search struct {
	g      *group
	i      int
	s      *kept
	bins   *table
	left   int64   // how many of those with the bits found so far are kept
	equals []int64 // of each span, those that have all the bits
}

// threshold finds the smallest magnitude of the largest int(density*n), one at least:
// by the upper half of its bits, then by the lower, then the place of the last of its
// equals that is among them. NaN is the largest, as torch sorts it.
func (g *group) threshold(w *work, i int, bins *table) ([]phase, error) {
	s := &w.keep[i]
	s.how = keepLargest
	equals, err := limits.Make[int64](w.b, w.crew.spans)
	q := &search{g: g, i: i, s: s, bins: bins, equals: equals}
	q.left = max(1, int64(g.inputs[i].density*float64(g.elements)))
	return []phase{{q.upper, q.foundUpper}, {q.lower, q.foundLower}, {q.count, func(r *room) error { return q.place(r, w.crew) }}}, err
}

func (q *search) upper(r *room, _ int, from, to int64) error {
	return q.bins.count(func(bins []int64) error {
		return q.g.differ(r, q.i, from, to, func(d []float32, _ int64) {
			for _, f := range d {
				bins[math.Float32bits(f)&magnitudeBits>>half]++
			}
		})
	})
}

func (q *search) foundUpper(*room) error {
	q.s.bits = q.found() << half
	return nil
}

func (q *search) lower(r *room, _ int, from, to int64) error {
	high := q.s.bits >> half
	return q.bins.count(func(bins []int64) error {
		return q.g.differ(r, q.i, from, to, func(d []float32, _ int64) {
			for _, f := range d {
				if m := math.Float32bits(f) & magnitudeBits; m>>half == high {
					bins[m&(1<<half-1)]++
				}
			}
		})
	})
}

func (q *search) foundLower(*room) error {
	q.s.bits |= q.found()
	return nil
}

// found is the bin that the last of those which are kept is in.
func (q *search) found() uint32 {
	bins := q.bins.sum()
	at := len(bins) - 1
	for ; at > 0 && bins[at] < q.left; at-- {
		q.left -= bins[at]
	}
	q.bins.clear()
	return uint32(at)
}

func (q *search) count(r *room, k int, from, to int64) error {
	return q.g.differ(r, q.i, from, to, func(d []float32, _ int64) {
		var n int64
		for _, f := range d {
			if math.Float32bits(f)&magnitudeBits == q.s.bits {
				n++
			}
		}
		q.equals[k] += n
	})
}

// place finds the last of the equals that is kept, in the span where it is.
func (q *search) place(r *room, c *crew) error {
	k := 0
	for ; k < len(q.equals)-1 && q.equals[k] < q.left; k++ {
		q.left -= q.equals[k]
	}
	from, to := c.bounds(k, q.g.elements)
	return q.g.differ(r, q.i, from, to, func(d []float32, first int64) {
		for j, f := range d {
			if q.left > 0 && math.Float32bits(f)&magnitudeBits == q.s.bits {
				q.left--
				q.s.last = first + int64(j)
			}
		}
	})
}

// magnitudes are sums of a span before it is thinned, and after.
type magnitudes struct{ before, after float64 }

// rescale gives what is kept the sum of magnitudes that all had; sums are float64.
func (g *group) rescale(w *work) (phase, error) {
	n := len(g.inputs)
	sums, err := limits.Make[magnitudes](w.b, n*w.crew.spans)
	span := func(r *room, k int, from, to int64) error {
		return g.pieces(from, to, func(first int64, count int) error {
			if err := g.read(r, first, count); err != nil {
				return err
			}
			for i := range g.inputs {
				s, d := &w.keep[i], r.in[i][:count]
				if s.how == keepAll {
					continue
				}
				subtract(d, r.in[g.base])
				s.measure(&sums[n*k+i], d, first, g.inputs[i].key)
			}
			return nil
		})
	}
	end := func(*room) error {
		for i := range g.inputs {
			var all magnitudes
			for k := i; k < len(sums); k += n {
				all = magnitudes{all.before + sums[k].before, all.after + sums[k].after}
			}
			if s := &w.keep[i]; s.how != keepAll {
				s.scale = all.scale()
			}
		}
		return nil
	}
	return phase{span, end}, err
}

// measure adds the magnitudes of a piece, and thins it.
func (s *kept) measure(sum *magnitudes, d []float32, first int64, key uint64) {
	before, after := sum.before, sum.after
	if s.how == keepRandom {
		for k, f := range d {
			bits := math.Float32bits(f) & magnitudeBits
			before += float64(math.Float32frombits(bits))
			after += float64(math.Float32frombits(bits & s.random(key, uint64(first)+uint64(k))))
		}
		*sum = magnitudes{before, after}
		return
	}
	for _, f := range d {
		before += math.Abs(float64(f))
	}
	s.thin(d, first, key)
	for _, f := range d {
		after += math.Abs(float64(f))
	}
	*sum = magnitudes{before, after}
}

func (m magnitudes) scale() float32 {
	const eps = 1e-7
	if m.before >= eps && m.after >= eps {
		return float32(m.before) / float32(m.after)
	}
	return 1
}
