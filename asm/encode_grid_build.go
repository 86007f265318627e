package asm

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// latticeParts is the number of parts in which neighbors are listed, each for equally many
// keys.
const latticeParts = 64

// A latticeWork is a grid under construction. It starts no goroutines: each encoder that
// needs the grid takes parts until none is left, and waits for the others.
type latticeWork struct {
	elems, levels, shells int
	g                     lattice
	begun, ended          sync.Once
	next                  atomic.Int32
	left                  sync.WaitGroup
	far                   [256][256]uint8 // squared distances in levels between halves of points
	halves                [][2]uint8      // of the grid's keys
	near                  [latticeParts][]uint16
	built                 atomic.Pointer[lattice]
}

// take builds parts that no other worker has taken, and returns the finished grid.
func (w *latticeWork) take(points func(yield func([8]uint8))) *lattice {
	w.begun.Do(func() { w.begin(points) })
	for i := w.next.Add(1) - 1; i < latticeParts; i = w.next.Add(1) - 1 {
		w.part(int(i))
		w.left.Done()
	}
	w.left.Wait()
	w.ended.Do(w.end)
	return w.built.Load()
}

func (w *latticeWork) begin(points func(yield func([8]uint8))) {
	g := &w.g
	for k := range g.index {
		g.index[k] = -1
	}
	half := g.bits * w.elems / 2
	points(func(p [8]uint8) {
		k := g.key(p[:w.elems])
		g.index[k] = int16(len(g.levels))
		g.levels = append(g.levels, p)
		w.halves = append(w.halves, [2]uint8{uint8(k & (1<<half - 1)), uint8(k >> half)})
	})
	for a := range 1 << half {
		for b := range 1 << half {
			for e := range w.elems / 2 {
				d := g.level(a, e) - g.level(b, e)
				w.far[a][b] += uint8(d * d) // at most 3*3*4 or 7*7*2
			}
		}
	}
	w.left.Add(latticeParts)
}

// part lists the neighbors of the off-grid points of part i.
func (w *latticeWork) part(i int) {
	g := &w.g
	share := 1 << (g.bits * w.elems) / latticeParts
	for key := i * share; key < (i+1)*share; key++ {
		if g.index[key] < 0 && w.within(key) {
			g.first[key] = int32(len(w.near[i]))
			w.near[i] = w.surround(w.near[i], key)
		}
	}
}

// within reports keys with valid levels: two bits hold one more than three levels.
func (w *latticeWork) within(key int) bool {
	for e := range w.elems {
		if w.g.level(key, e) >= w.levels {
			return false
		}
	}
	return true
}

// surround appends the neighbors of a point.
func (w *latticeWork) surround(near []uint16, key int) []uint16 {
	half := w.g.bits * w.elems / 2
	low, high := &w.far[key&(1<<half-1)], &w.far[key>>half]
	var square [2048]uint8 // of the distance of each point: as many as the largest grid has
	var there [4]uint64    // which distances there are
	for i, h := range w.halves {
		d := low[h[0]] + high[h[1]]
		square[i] = d
		there[d/64] |= 1 << (d % 64)
	}
	at := len(near)
	near = append(near, 0)
	for shell := 0; shell < w.shells; {
		k := 0
		for k < len(there) && there[k] == 0 {
			k++
		}
		if k == len(there) {
			break
		}
		d := uint8(64*k + bits.TrailingZeros64(there[k]))
		there[k] &= there[k] - 1
		shell++
		for i, s := range square[:len(w.halves)] {
			if s == d {
				h := w.halves[i]
				near = append(near, uint16(int(h[0])|int(h[1])<<half))
			}
		}
	}
	near[at] = uint16(len(near) - at - 1)
	for (len(near)-at-1)%nearEight != 0 {
		near = append(near, near[at+1])
	}
	return near
}

// end joins the parts.
func (w *latticeWork) end() {
	g, n := &w.g, 0
	for _, part := range w.near {
		n += len(part)
	}
	g.near = make([]uint16, 0, n)
	share := 1 << (g.bits * w.elems) / latticeParts
	for i, part := range w.near {
		for key := i * share; key < (i+1)*share; key++ {
			g.first[key] += int32(len(g.near))
		}
		g.near = append(g.near, part...)
		w.near[i] = nil
	}
	w.built.Store(g)
}
