// Package grid puts tensors together that are stored in several parts, each a box of indices: it proves that
// the parts cover a tensor exactly, finds the part of an element, and reads the elements in order.
//
// # Limits
//
//	MaxTotalBytes    four bytes per cell: the tensor is cut wherever a part begins or ends
//	MaxSteps         one per part and dimension, per cell, and per run of elements that is read
package grid

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// MaxDims bounds the dimensions of a tensor in parts.
const MaxDims = 64

const none = -1

// A Part is a box of the indices of a tensor.
type Part struct {
	Offsets, Sizes []int64
}

// Causes are what a format says of parts that do not cover a tensor exactly.
type Causes struct {
	Gap, Overlap *wire.Cause
}

// A Grid is a tensor cut wherever a part begins or ends: each cell belongs to one part.
type Grid struct {
	cuts  [][]int64 // of each dimension, from 0 to its size
	cells []int32   // the part of each cell, row-major
}

// A maker makes a grid.
type maker struct {
	b      *limits.Budget
	steps  limits.Steps
	shape  []int64
	count  int
	part   func(int) *Part
	causes Causes
}

// New proves that parts, which lie inside of a tensor of at least one element, cover it exactly, and finds the
// part of each cell. The grid of a single part is nil.
func New(b *limits.Budget, shape []int64, count int, part func(int) *Part, causes Causes) (*Grid, error) {
	d := &maker{b: b, steps: b.Steps(), shape: shape, count: count, part: part, causes: causes}
	switch elements, _ := wire.Product(shape); count {
	case 0:
		return nil, causes.Gap.Errorf("it has no part")
	case 1:
		if n, _ := wire.Product(part(0).Sizes); n != elements {
			return nil, causes.Gap.Errorf("its only part has %d of %d elements", n, elements)
		}
		return nil, nil
	}
	g, err := d.cut()
	if err != nil {
		return nil, err
	}
	for i := range count {
		if err := d.mark(g, part(i), int32(i)); err != nil {
			return nil, err
		}
	}
	if i := slices.Index(g.cells, none); i >= 0 {
		return nil, causes.Gap.Errorf("its %d parts leave out %v", count, g.corner(i))
	}
	return g, nil
}

// cut makes the cells.
func (d *maker) cut() (*Grid, error) {
	g := &Grid{}
	var err error
	if g.cuts, err = limits.Make[[]int64](d.b, len(d.shape)); err != nil {
		return nil, err
	}
	cells := uint64(1) // at most as many as elements
	for k := range d.shape {
		if g.cuts[k], err = d.cutAlong(k); err != nil {
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
func (d *maker) cutAlong(k int) ([]int64, error) {
	list, err := limits.Make[int64](d.b, 2*d.count)
	if err != nil {
		return nil, err
	}
	for i := range d.count {
		if err := d.steps.Step(); err != nil {
			return nil, err
		}
		c := d.part(i)
		list[2*i], list[2*i+1] = c.Offsets[k], c.Offsets[k]+c.Sizes[k]
	}
	if err := limits.Sort(d.b, list, cmp.Compare[int64]); err != nil {
		return nil, err
	}
	list = slices.Compact(list)
	if first, last := list[0], list[len(list)-1]; first != 0 || last != d.shape[k] {
		return nil, d.causes.Gap.Errorf("its parts have the indices %d to %d of dimension %d, which has %d", first, last, k, d.shape[k])
	}
	return list, nil
}

// mark gives the cells of a part to it.
func (d *maker) mark(g *Grid, c *Part, part int32) error {
	dims := len(g.cuts)
	var low, high, at [MaxDims]int
	for k := range dims {
		low[k], _ = slices.BinarySearch(g.cuts[k], c.Offsets[k])
		high[k], _ = slices.BinarySearch(g.cuts[k], c.Offsets[k]+c.Sizes[k])
		at[k] = low[k]
	}
	for {
		if err := d.steps.Take(1 + int64(dims)); err != nil {
			return err
		}
		cell := g.index(at[:dims])
		if g.cells[cell] != none {
			return d.causes.Overlap.Errorf("two parts have %v", g.corner(cell))
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
func (g *Grid) index(at []int) int {
	n := 0
	for k, i := range at {
		n = n*(len(g.cuts[k])-1) + i
	}
	return n
}

// corner returns the first index of a cell.
func (g *Grid) corner(cell int) []int64 {
	out := new([MaxDims]int64)
	for k := len(g.cuts) - 1; k >= 0; k-- {
		n := len(g.cuts[k]) - 1
		out[k] = g.cuts[k][cell%n]
		cell /= n
	}
	return out[:len(g.cuts)]
}

// Find returns the part with an element.
func (g *Grid) Find(coordinate []int64) int32 {
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
