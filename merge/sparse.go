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
	bits  uint32 // of the smallest magnitude that is kept
	last  int64  // the last place at which that magnitude is
	least uint64 // random ones below are kept
	scale float32
}

const magnitudeBits = 1<<31 - 1

// thin makes zero what is not kept.
func (s *kept) thin(d []float32, first int64, in *input) {
	switch {
	case s.none:
		clear(d)
	case s.how == keepLargest:
		for k, f := range d {
			if m := math.Float32bits(f) & magnitudeBits; m < s.bits || m == s.bits && first+int64(k) > s.last {
				d[k] = 0
			}
		}
	case s.how == keepRandom:
		for k := range d {
			if random(in.key, uint64(first)+uint64(k)) >= s.least {
				d[k] = 0
			}
		}
	}
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

func (g *group) step() error { return g.rooms.Step() }

// sparsify finds what is kept of each difference.
func (g *group) sparsify(w *work) error {
	r, err := g.take()
	if err != nil {
		return err
	}
	defer r.back()
	for i := range g.inputs {
		if i == g.base {
			continue
		}
		s, density := &w.keep[i], g.inputs[i].density
		switch {
		case density >= 1:
			continue // nor scaled
		case density <= 0:
			s.none = true
			continue
		case g.method.sparse == keepRandom:
			s.how, s.least = keepRandom, uint64(math.Ldexp(density, 63))*2
		default:
			if err := g.threshold(r, i, s, density); err != nil {
				return err
			}
		}
		if g.shared["rescale"] != 0 {
			if err := g.rescale(r, i, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// each gives the numbers of one difference, piece by piece.
func (g *group) each(r *room, i int, f func(d []float32, first int64)) error {
	return g.pieces(r, g.step, func(first int64, n int) {
		d, base := r.in[i][:n], r.in[g.base]
		for k := range d {
			d[k] -= base[k]
		}
		f(d, first)
	})
}

// threshold finds the smallest magnitude of the largest int(density*n), one at least:
// by the upper half of its bits, then by the lower, then the place of the last of its
// equals that is among them. NaN is the largest, as torch sorts it.
func (g *group) threshold(r *room, i int, s *kept, density float64) error {
	s.how = keepLargest
	left := max(1, int64(density*float64(g.elements)))
	var bins []int64
	var high uint32
	const half = 16
	for pass := range 2 {
		clear(bins)
		if bins == nil {
			var err error
			if bins, err = limits.Make[int64](g.rooms.Budget(), 1<<half); err != nil {
				return err
			}
			defer func() { g.rooms.Budget().Drop(8 << half) }()
		}
		err := g.each(r, i, func(d []float32, _ int64) {
			for _, f := range d {
				m := math.Float32bits(f) & magnitudeBits
				if pass == 0 {
					bins[m>>half]++
				} else if m>>half == high {
					bins[m&(1<<half-1)]++
				}
			}
		})
		if err != nil {
			return err
		}
		at := len(bins) - 1
		for ; at > 0 && bins[at] < left; at-- {
			left -= bins[at]
		}
		if pass == 0 {
			high = uint32(at)
		} else {
			s.bits = high<<half | uint32(at)
		}
	}
	return g.each(r, i, func(d []float32, first int64) {
		for k, f := range d {
			if left > 0 && math.Float32bits(f)&magnitudeBits == s.bits {
				left--
				s.last = first + int64(k)
			}
		}
	})
}

// rescale gives what is kept the sum of magnitudes that all had; sums are float64.
func (g *group) rescale(r *room, i int, s *kept) error {
	var before, after float64
	err := g.each(r, i, func(d []float32, first int64) {
		for _, f := range d {
			before += math.Abs(float64(f))
		}
		s.thin(d, first, &g.inputs[i])
		for _, f := range d {
			after += math.Abs(float64(f))
		}
	})
	const eps = 1e-7
	if s.scale = 1; before >= eps && after >= eps {
		s.scale = float32(before) / float32(after)
	}
	return err
}
