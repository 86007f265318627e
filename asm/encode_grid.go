package asm

import (
	"math"
	"sync"
)

// A lattice is a grid as an encoder needs it: which points of integer levels are on it,
// and which of its points are near one that is not. Level l is the value 2*l+1.
type lattice struct {
	bits   int            // of each level in a key
	levels [][8]uint8     // of each grid point; points of four elements have four
	near   []uint16       // for each point off the grid the number of neighbors, then their keys, padded to multiples of eight
	index  [1 << 16]int16 // by key: the grid point, or -1
	first  [1 << 16]int32 // by key: index of its neighbors in near
}

// nearEight is how many neighbors kernels take in one step: a list is padded with its
// first one.
const nearEight = 8

// latticeOf returns a function that builds a grid on first use. The neighbors of a point
// off the grid are those at its shells smallest distances, in order. Callers that need it
// at the same time build it together.
func latticeOf(elems, bits, levels, shells int, points func(yield func([8]uint8))) func() *lattice {
	work := sync.OnceValue(func() *latticeWork { // 0.4 MB, which no program pays that quantizes nothing
		w := &latticeWork{elems: elems, levels: levels, shells: shells}
		w.g.bits = bits
		return w
	})
	return func() *lattice {
		w := work()
		if g := w.built.Load(); g != nil {
			return g
		}
		return w.take(points)
	}
}

func (g *lattice) key(levels []uint8) int {
	k := 0
	for i, l := range levels {
		k |= int(l) << (g.bits * i)
	}
	return k
}

// level returns an element's level in a key.
func (g *lattice) level(key, element int) int { return key >> (g.bits * element) & (1<<g.bits - 1) }

// closest returns the key of the neighbor of an off-grid point that is nearest to x, the
// first of equals: the one with the least sum of w*(scale*value-x)^2. values are the
// values of levels, eight of them; for levels of two bits the same four twice.
func (g *lattice) closest(s *searchKernels, key int, x, w []float32, values *[8]float32, scale float32) int {
	at := g.first[key]
	n := int(g.near[at])
	near := g.near[at+1:][:n]
	if kernel := s.near[g.bits]; kernel != nil {
		return int(near[kernel(&near[0], (n+nearEight-1)/nearEight, &x[0], &w[0], values, scale)])
	}
	cost := func(e, l int) float32 {
		diff := float32(scale*values[l]) - x[e]
		return float32(float32(w[e]*diff) * diff)
	}
	best, least := near[0], float32(math.MaxFloat32)
	if g.bits == 3 {
		for _, k := range near {
			k := int(k)
			if sum := cost(0, k&7) + cost(1, k>>3&7) + cost(2, k>>6&7) + cost(3, k>>9&7); sum < least {
				best, least = uint16(k), sum
			}
		}
		return int(best)
	}
	var costs [8][4]float32 // of each element's levels: there are more neighbours than levels
	for e := range costs {
		for l := range costs[e] {
			costs[e][l] = cost(e, l)
		}
	}
	for _, k := range near {
		if sum := sumOfEight(&costs, uint32(k)); sum < least {
			best, least = k, sum
		}
	}
	return int(best)
}

// sumOfEight returns the cost of eight levels of two bits.
func sumOfEight(c *[8][4]float32, k uint32) float32 {
	return c[0][k&3] + c[1][k>>2&3] + c[2][k>>4&3] + c[3][k>>6&3] + c[4][k>>8&3] + c[5][k>>10&3] + c[6][k>>12&3] + c[7][k>>14&3]
}

// gridBytes returns the levels of a grid whose rows are bytes in rising order.
func gridBytes[T uint32 | uint64](grid []T, elems int, values string) func(func([8]uint8)) {
	return func(yield func([8]uint8)) {
		for _, row := range grid {
			var p [8]uint8
			for e := range elems {
				for l := range len(values) {
					if values[l] == byte(row>>(8*e)) {
						p[e] = uint8(l)
					}
				}
			}
			yield(p)
		}
	}
}

const (
	twoBitValues   = "\x08\x19\x2b"
	oneBitValues   = "\xff\x00\x01"
	threeBitValues = "\x04\x0c\x14\x1c\x24\x2c\x34\x3e"
)

var (
	iq2xxsLattice = latticeOf(8, 2, 3, 2, gridBytes(iq2xxsGrid[:], 8, twoBitValues))
	iq2xsLattice  = latticeOf(8, 2, 3, 2, gridBytes(iq2xsGrid[:], 8, twoBitValues))
	iq2sLattice   = latticeOf(8, 2, 3, 1, gridBytes(iq2sGrid[:], 8, twoBitValues))
	iq1Lattice    = latticeOf(8, 2, 3, 3, gridBytes(iq1Grid[:], 8, oneBitValues))
	iq3xxsLattice = latticeOf(4, 3, 8, 2, gridBytes(iq3xxsGrid[:], 4, threeBitValues))
	iq3sLattice   = latticeOf(4, 3, 8, 3, gridBytes(iq3sGrid[:], 4, "\x01\x03\x05\x07\x09\x0b\x0d\x0f"))
)
