package grid

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// split cuts a part at random until it is small, or chance ends it.
func split(r *rand.Rand, offsets, sizes []int64) []Part {
	k := r.IntN(len(sizes))
	if sizes[k] < 2 || r.IntN(4) == 0 {
		return []Part{{offsets, sizes}}
	}
	at := 1 + r.Int64N(sizes[k]-1)
	low, high, from := slices.Clone(sizes), slices.Clone(sizes), slices.Clone(offsets)
	low[k], high[k], from[k] = at, sizes[k]-at, offsets[k]+at
	return append(split(r, offsets, low), split(r, from, high)...)
}

// spots lists the coordinates of all elements, row-major.
func spots(shape []int64) (list [][]int64) {
	n, _ := wire.Product(shape)
	for e := range int64(n) {
		at := make([]int64, len(shape))
		for k := len(shape) - 1; k >= 0; k-- {
			at[k], e = e%shape[k], e/shape[k]
		}
		list = append(list, at)
	}
	return list
}

// has reports whether a part has an element, in the plainest way.
func has(c *Part, at []int64) bool {
	for k, x := range at {
		if x < c.Offsets[k] || x >= c.Offsets[k]+c.Sizes[k] {
			return false
		}
	}
	return true
}

// A cut is a tensor in parts.
type cut struct {
	shape  []int64
	chunks []Part
	grid   *Grid
}

// owners counts the parts of each element.
func owners(it *cut) (gap, overlap bool) {
	for _, at := range spots(it.shape) {
		n := 0
		for i := range it.chunks {
			if has(&it.chunks[i], at) {
				n++
			}
		}
		gap, overlap = gap || n == 0, overlap || n > 1
	}
	return gap, overlap
}

// Parts are taken if and only if each element is in one of them, and each element is found in its part.
// Part lists are tilings of random tensors, whole and with a part that is gone, moved or of another size.
func TestPartsTileATensor(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 13))
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	ends := map[string]int{}
	for range 4000 {
		it := &cut{shape: make([]int64, 1+r.IntN(3))}
		for k := range it.shape {
			it.shape[k] = 1 + r.Int64N(5)
		}
		it.chunks = split(r, make([]int64, len(it.shape)), it.shape)
		damage(r, it)
		r.Shuffle(len(it.chunks), func(i, j int) { it.chunks[i], it.chunks[j] = it.chunks[j], it.chunks[i] })
		gap, overlap := owners(it)
		var err error
		it.grid, err = New(b, it.shape, len(it.chunks), func(i int) *Part { return &it.chunks[i] }, Causes{wire.ErrGap, wire.ErrOverlap})
		switch {
		case !gap && !overlap && err == nil:
			ends["whole"]++
			found(t, it)
		case gap && errors.Is(err, wire.ErrGap):
			ends["gap"]++
		case overlap && errors.Is(err, wire.ErrOverlap):
			ends["overlap"]++
		default:
			t.Fatalf("%v of shape %v: a gap is %t, an overlap is %t: %v", it.chunks, it.shape, gap, overlap, err)
		}
	}
	if ends["whole"] < 500 || ends["gap"] < 500 || ends["overlap"] < 200 {
		t.Error(ends)
	}
}

// damage changes one part of some lists. A part stays inside of its tensor, as the decoder proves before.
func damage(r *rand.Rand, it *cut) {
	i := r.IntN(len(it.chunks))
	c := &it.chunks[i]
	k := r.IntN(len(it.shape))
	c.Offsets, c.Sizes = slices.Clone(c.Offsets), slices.Clone(c.Sizes)
	switch r.IntN(5) {
	case 0:
		it.chunks = slices.Delete(it.chunks, i, i+1)
	case 1:
		c.Sizes[k] = 1 + r.Int64N(it.shape[k]-c.Offsets[k])
	case 2:
		c.Offsets[k] = r.Int64N(it.shape[k] - c.Sizes[k] + 1)
	}
}

// found holds each element to the part that has it, and to its place and that of those after it there.
func found(t *testing.T, it *cut) {
	t.Helper()
	if it.grid == nil {
		return
	}
	all := spots(it.shape)
	for e, at := range all {
		part := &it.chunks[it.grid.Find(at)]
		if !has(part, at) {
			t.Fatalf("%v is found in the part at %v of %v", at, part.Offsets, part.Sizes)
		}
		for _, strides := range [][]int64{nil, columns(part.Sizes)} {
			c := &Stored{Part: part, Strides: strides, First: int64(len(strides))}
			first, count := c.Run(at, it.shape)
			if count < 1 {
				t.Fatalf("%d elements follow %v", count, at)
			}
			for i := range count {
				if next := e + int(i); next >= len(all) || !has(part, all[next]) || position(c, all[next]) != first+i {
					t.Fatalf("%d elements from %v on in the part at %v of %v, strides %v: not the one with number %d", count, at, c.Offsets, c.Sizes, strides, i)
				}
			}
			if strides == nil && longer(c, all, e, first, count) {
				t.Fatalf("more than %d elements follow %v in the part at %v of %v", count, at, c.Offsets, c.Sizes)
			}
		}
	}
}

// columns are the strides of a part that is stored column by column.
func columns(sizes []int64) (list []int64) {
	n := int64(1)
	for _, size := range sizes {
		list, n = append(list, n), n*size
	}
	return list
}

// position is the place of an element in the storage of its part.
func position(c *Stored, at []int64) int64 {
	n, stride := c.First, int64(1)
	for k := len(at) - 1; k >= 0; k-- {
		step := stride
		if c.Strides != nil {
			step = c.Strides[k]
		}
		n, stride = n+(at[k]-c.Offsets[k])*step, stride*c.Sizes[k]
	}
	return n
}

// longer reports whether the element after a run follows it in the part, too.
func longer(c *Stored, all [][]int64, e int, first, count int64) bool {
	next := e + int(count)
	return next < len(all) && has(c.Part, all[next]) && position(c, all[next]) == first+count
}
