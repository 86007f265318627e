package asm

import (
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Neighbours are the points at a number of least distances, the nearest first and equal ones in the
// grid's order, however many encoders build the lists at once.
func TestNeighboursOfGrids(t *testing.T) {
	if os.Getenv("LEVELS") != "" {
		t.Skip("what builds the lists is no kernel of a level, and takes a minute where each instruction is emulated")
	}
	grid := func(elems, bits, levels, shells int, points func(func([8]uint8))) func(t *testing.T) {
		return func(t *testing.T) {
			t.Parallel()
			build := latticeOf(elems, bits, levels, shells, points)
			var built [4]*lattice
			var all sync.WaitGroup
			for i := range built {
				all.Go(func() { built[i] = build() })
			}
			all.Wait()
			g := built[0]
			for _, other := range built {
				if other != g {
					t.Fatal("two encoders have two grids")
				}
			}
			if took := int64(4*len(g.near) + 8*len(g.levels) + 6<<16 + 1<<16); took > gridTables {
				t.Errorf("tables of %d bytes", took)
			}
			for key := 0; key < 1<<(bits*elems); key += 7 {
				if g.index[key] >= 0 || slices.Max(levelsOf(g, key, elems)) >= levels {
					continue
				}
				list := g.near[g.first[key]+1:][:g.near[g.first[key]]]
				if diff := cmp.Diff(nearestOf(g, key, elems, shells), list); diff != "" {
					t.Fatalf("key %d: %s", key, diff)
				}
			}
		}
	}
	t.Run("IQ2_XXS", grid(8, 2, 3, 2, gridBytes(iq2xxsGrid[:], 8, twoBitValues)))
	t.Run("IQ2_S", grid(8, 2, 3, 1, gridBytes(iq2sGrid[:], 8, twoBitValues)))
	t.Run("IQ1", grid(8, 2, 3, 3, gridBytes(iq1Grid[:], 8, oneBitValues)))
	t.Run("IQ3_XXS", grid(4, 3, 8, 2, gridBytes(iq3xxsGrid[:], 4, threeBitValues)))
}

func levelsOf(g *lattice, key, elems int) (list []int) {
	for e := range elems {
		list = append(list, g.level(key, e))
	}
	return list
}

// nearestOf sorts all points by their distance.
func nearestOf(g *lattice, key, elems, shells int) (list []uint16) {
	type point struct{ square, key int }
	var points []point
	here := levelsOf(g, key, elems)
	for _, p := range g.levels {
		k, square := g.key(p[:elems]), 0
		for e, l := range levelsOf(g, k, elems) {
			square += (l - here[e]) * (l - here[e])
		}
		points = append(points, point{square, k})
	}
	slices.SortStableFunc(points, func(a, b point) int { return a.square - b.square })
	last := -1
	for _, p := range points {
		if p.square != last {
			if shells == 0 {
				break
			}
			last, shells = p.square, shells-1
		}
		list = append(list, uint16(p.key))
	}
	return list
}
