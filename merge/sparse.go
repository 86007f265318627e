package merge

import (
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A selection says which numbers of a difference are kept: all; none; magnitudes above a
// threshold, with those equal to it up to an index; or random ones.
type selection struct {
	how   sparsity
	none  bool
	bits  uint32  // bits of the threshold, the smallest magnitude that is kept
	last  int64   // the last index at which that magnitude is kept
	least uint64  // a number is kept if its random number is below; even
	scale float32 // factor for kept numbers, 0 for none
}

// apply sets the numbers that are not kept to zero. Which are kept is as good as random, so
// nothing branches on it.
func (s *selection) apply(d []float32, first int64, key uint64) {
	switch {
	case s.none:
		clear(d)
	case s.how == keepLargest:
		equal := int(max(0, min(int64(len(d)), s.last+1-first))) // so far equals are kept
		zeroBelow(d[:equal], int64(s.bits))
		zeroBelow(d[equal:], int64(s.bits)+1)
	case s.how == keepRandom:
		for k, f := range d {
			d[k] = math.Float32frombits(math.Float32bits(f) & s.random(key, uint64(first)+uint64(k)))
		}
	}
}

// zeroBelow sets numbers with a magnitude below least to zero.
func zeroBelow(d []float32, least int64) {
	for k, f := range d {
		bits := math.Float32bits(f)
		smaller := uint32((int64(bits&magnitudeBits) - least) >> 63)
		d[k] = math.Float32frombits(bits &^ smaller)
	}
}

// random returns all ones if number i of a stream is below s.least, else zero.
func (s *selection) random(key, i uint64) uint32 {
	return uint32((int64(random(key, i)>>1) - int64(s.least>>1)) >> 63)
}

// random returns number i of the stream of a key: the output of SplitMix64 (Steele, Lea, Flood
// 2014) for its i-th state. So any range of a stream can be computed by itself, and is the
// same on every machine.
func random(key, i uint64) uint64 {
	z := key + (i+1)*0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// keyOf returns the key of a stream: random of the FNV-1a hash of text and of the seed.
func keyOf(seed uint64, text string) uint64 {
	h := uint64(0xCBF29CE484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001B3
	}
	return random(h, seed)
}

// sparsify returns the phases that determine which numbers of the differences are kept.
func (g *group) sparsify(w *work) ([]phase, error) {
	var phases []phase
	bins := &histograms{b: w.b}
	scaled := false
	for i := range g.inputs {
		s, density := &w.keep[i], g.inputs[i].density
		switch {
		case i == g.base || density >= 1:
			continue // keeps everything, unscaled
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

// differ calls each with the numbers of one difference, piece by piece.
func (g *group) differ(r *buffers, i int, from, to int64, each func(d []float32, first int64)) error {
	return g.forEachPiece(from, to, func(first int64, n int) error {
		err := g.readInput(r, g.base, first, n)
		if err == nil {
			err = g.readInput(r, i, first, n)
		}
		d := r.in[i][:n]
		subtract(d, r.in[g.base])
		each(d, first)
		return err
	})
}

// A thresholdSearch finds the magnitude above which a given number of the numbers of a
// difference are kept.
type thresholdSearch struct {
	g      *group
	i      int
	s      *selection
	bins   *histograms
	left   int64   // how many numbers with the bits found so far are kept
	equals []int64 // how many numbers of each span equal the threshold
}

// threshold returns the phases that find the smallest of the max(1, int(density*n)) largest
// magnitudes: the upper half of its bits, then the lower half, then the index of the last kept
// number that equals it. NaN is the largest, as in torch's order.
func (g *group) threshold(w *work, i int, bins *histograms) ([]phase, error) {
	s := &w.keep[i]
	s.how = keepLargest
	equals, err := limits.Make[int64](w.b, w.runner.spans)
	q := &thresholdSearch{g: g, i: i, s: s, bins: bins, equals: equals}
	q.left = max(1, int64(g.inputs[i].density*float64(g.elements)))
	return []phase{{q.upper, q.foundUpper}, {q.lower, q.foundLower}, {q.count, func(r *buffers) error { return q.findLast(r, w.runner) }}}, err
}

func (q *thresholdSearch) upper(r *buffers, _ int, from, to int64) error {
	return q.bins.count(func(bins []int64) error {
		return q.g.differ(r, q.i, from, to, func(d []float32, _ int64) {
			for _, f := range d {
				bins[math.Float32bits(f)&magnitudeBits>>halfBits]++
			}
		})
	})
}

func (q *thresholdSearch) foundUpper(*buffers) error {
	q.s.bits = q.findBin() << halfBits
	return nil
}

func (q *thresholdSearch) lower(r *buffers, _ int, from, to int64) error {
	high := q.s.bits >> halfBits
	return q.bins.count(func(bins []int64) error {
		return q.g.differ(r, q.i, from, to, func(d []float32, _ int64) {
			for _, f := range d {
				if m := math.Float32bits(f) & magnitudeBits; m>>halfBits == high {
					bins[m&(1<<halfBits-1)]++
				}
			}
		})
	})
}

func (q *thresholdSearch) foundLower(*buffers) error {
	q.s.bits |= q.findBin()
	return nil
}

// findBin returns the bin with the last of the kept numbers.
func (q *thresholdSearch) findBin() uint32 {
	bins := q.bins.sum()
	at := len(bins) - 1
	for ; at > 0 && bins[at] < q.left; at-- {
		q.left -= bins[at]
	}
	q.bins.clear()
	return uint32(at)
}

func (q *thresholdSearch) count(r *buffers, k int, from, to int64) error {
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

// findLast finds the last kept number that equals the threshold.
func (q *thresholdSearch) findLast(r *buffers, c *phaseRunner) error {
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

// magnitudes are sums of magnitudes of all numbers and of the kept ones.
type magnitudes struct{ before, after float64 }

// rescale returns the phase that computes the scale by which the kept numbers get the sum of
// magnitudes of all. Sums are float64.
func (g *group) rescale(w *work) (phase, error) {
	n := len(g.inputs)
	sums, err := limits.Make[magnitudes](w.b, n*w.runner.spans)
	span := func(r *buffers, k int, from, to int64) error {
		return g.forEachPiece(from, to, func(first int64, count int) error {
			if err := g.readInputs(r, first, count); err != nil {
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
	end := func(*buffers) error {
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

// measure adds the magnitudes of a piece to sum.
func (s *selection) measure(sum *magnitudes, d []float32, first int64, key uint64) {
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
	s.apply(d, first, key)
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
