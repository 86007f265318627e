package dcp

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A grid is a tensor cut wherever a part begins or ends: each cell belongs to one part.
type grid struct {
	cuts  [][]int64 // of each dimension, from 0 to its size
	cells []int32   // the part of each cell, row-major
}

// tiles proves that the parts cover the tensor exactly, and finds the part of each cell.
func (d *decoder) tiles(it *item) error {
	switch {
	case it.count == 0:
		return nil
	case len(it.chunks) == 0:
		return errGap.Errorf("it has no part")
	case len(it.chunks) == 1:
		if n, _ := wire.Product(it.chunks[0].sizes); int64(n) != it.count {
			return errGap.Errorf("its only part has %d of %d elements", n, it.count)
		}
		return nil
	}
	g, err := d.cut(it)
	if err != nil {
		return err
	}
	for i := range it.chunks {
		if err := d.mark(g, &it.chunks[i], int32(i)); err != nil {
			return err
		}
	}
	if i := slices.Index(g.cells, none); i >= 0 {
		return errGap.Errorf("its %d parts leave out %v", len(it.chunks), g.corner(i))
	}
	it.grid = g
	return nil
}

// cut makes the cells.
func (d *decoder) cut(it *item) (*grid, error) {
	g := &grid{}
	var err error
	if g.cuts, err = limits.Make[[]int64](d.b, len(it.shape)); err != nil {
		return nil, err
	}
	cells := uint64(1) // at most as many as elements
	for k := range it.shape {
		if g.cuts[k], err = d.cutAlong(it, k); err != nil {
			return nil, err
		}
		cells *= uint64(len(g.cuts[k]) - 1)
	}
	n, ok := wire.Int(cells, 1<<31-1)
	if !ok {
		return nil, &limits.Error{Axis: limits.SingleAlloc, Want: 1<<31 - 1}
	}
	if g.cells, err = limits.Make[int32](d.b, n); err != nil {
		return nil, err
	}
	for i := range g.cells {
		g.cells[i] = none
	}
	return g, d.b.Step(int64(n))
}

// cutAlong lists where parts begin or end in a dimension.
func (d *decoder) cutAlong(it *item, k int) ([]int64, error) {
	list, err := limits.Make[int64](d.b, 2*len(it.chunks))
	if err != nil {
		return nil, err
	}
	for i := range it.chunks {
		if err := d.steps.Step(); err != nil {
			return nil, err
		}
		c := &it.chunks[i]
		list[2*i], list[2*i+1] = c.offsets[k], c.offsets[k]+c.sizes[k]
	}
	if err := limits.Sort(d.b, list, cmp.Compare[int64]); err != nil {
		return nil, err
	}
	list = slices.Compact(list)
	if first, last := list[0], list[len(list)-1]; first != 0 || last != it.shape[k] {
		return nil, errGap.Errorf("its parts have the indices %d to %d of dimension %d, which has %d", first, last, k, it.shape[k])
	}
	return list, nil
}

// mark gives the cells of a part to it.
func (d *decoder) mark(g *grid, c *chunk, part int32) error {
	dims := len(g.cuts)
	var low, high, at [maxDims]int
	for k := range dims {
		low[k], _ = slices.BinarySearch(g.cuts[k], c.offsets[k])
		high[k], _ = slices.BinarySearch(g.cuts[k], c.offsets[k]+c.sizes[k])
		at[k] = low[k]
	}
	for {
		if err := d.steps.Take(1 + int64(dims)); err != nil {
			return err
		}
		cell := g.index(at[:dims])
		if g.cells[cell] != none {
			return errOverlap.Errorf("two parts have %v", g.corner(cell))
		}
		g.cells[cell] = part
		k := dims - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k] < high[k] {
				break
			}
			at[k] = low[k]
		}
		if k < 0 {
			return nil
		}
	}
}

// index returns the number of a cell.
func (g *grid) index(at []int) int {
	n := 0
	for k, i := range at {
		n = n*(len(g.cuts[k])-1) + i
	}
	return n
}

// corner returns the first index of a cell.
func (g *grid) corner(cell int) []int64 {
	out := new([maxDims]int64)
	for k := len(g.cuts) - 1; k >= 0; k-- {
		n := len(g.cuts[k]) - 1
		out[k] = g.cuts[k][cell%n]
		cell /= n
	}
	return out[:len(g.cuts)]
}

// find returns the part with an element.
func (g *grid) find(coordinate []int64) int32 {
	n := 0
	for k, x := range coordinate {
		i, found := slices.BinarySearch(g.cuts[k], x)
		if !found {
			i--
		}
		n = n*(len(g.cuts[k])-1) + i
	}
	return g.cells[n]
}
