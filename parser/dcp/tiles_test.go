package dcp

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// split cuts a part at random until it is small, or chance ends it.
func split(r *rand.Rand, offsets, sizes []int64) []chunk {
	k := r.IntN(len(sizes))
	if sizes[k] < 2 || r.IntN(4) == 0 {
		return []chunk{{offsets: offsets, sizes: sizes}}
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
func has(c *chunk, at []int64) bool {
	for k, x := range at {
		if x < c.offsets[k] || x >= c.offsets[k]+c.sizes[k] {
			return false
		}
	}
	return true
}

// owners counts the parts of each element.
func owners(it *item) (gap, overlap bool) {
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
		it := &item{name: "w", shape: make([]int64, 1+r.IntN(3))}
		for k := range it.shape {
			it.shape[k] = 1 + r.Int64N(5)
		}
		n, _ := wire.Product(it.shape)
		it.count = int64(n)
		it.chunks = split(r, make([]int64, len(it.shape)), it.shape)
		damage(r, it)
		r.Shuffle(len(it.chunks), func(i, j int) { it.chunks[i], it.chunks[j] = it.chunks[j], it.chunks[i] })
		gap, overlap := owners(it)
		d := &decoder{b: b, steps: b.Steps()}
		err := d.tiles(it)
		switch {
		case !gap && !overlap && err == nil:
			ends["whole"]++
			found(t, it)
		case gap && errors.Is(err, errGap):
			ends["gap"]++
		case overlap && errors.Is(err, errOverlap):
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
func damage(r *rand.Rand, it *item) {
	i := r.IntN(len(it.chunks))
	c := &it.chunks[i]
	k := r.IntN(len(it.shape))
	c.offsets, c.sizes = slices.Clone(c.offsets), slices.Clone(c.sizes)
	switch r.IntN(5) {
	case 0:
		it.chunks = slices.Delete(it.chunks, i, i+1)
	case 1:
		c.sizes[k] = 1 + r.Int64N(it.shape[k]-c.offsets[k])
	case 2:
		c.offsets[k] = r.Int64N(it.shape[k] - c.sizes[k] + 1)
	}
}

// found holds each element to the part that has it, and to its place and that of those after it there.
func found(t *testing.T, it *item) {
	t.Helper()
	if it.grid == nil {
		return
	}
	all := spots(it.shape)
	for e, at := range all {
		c := &it.chunks[it.grid.find(at)]
		if !has(c, at) {
			t.Fatalf("%v is found in the part at %v of %v", at, c.offsets, c.sizes)
		}
		for _, strides := range [][]int64{nil, columns(c.sizes)} {
			c.info.Strides, c.info.Offset = strides, int64(len(strides))
			first, count := c.run(at, it.shape)
			if count < 1 {
				t.Fatalf("%d elements follow %v", count, at)
			}
			for i := range count {
				if next := e + int(i); next >= len(all) || !has(c, all[next]) || position(c, all[next]) != first+i {
					t.Fatalf("%d elements from %v on in the part at %v of %v, strides %v: not the one with number %d", count, at, c.offsets, c.sizes, strides, i)
				}
			}
			if strides == nil && longer(c, all, e, first, count) {
				t.Fatalf("more than %d elements follow %v in the part at %v of %v", count, at, c.offsets, c.sizes)
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
func position(c *chunk, at []int64) int64 {
	n, stride := c.info.Offset, int64(1)
	for k := len(at) - 1; k >= 0; k-- {
		step := stride
		if c.info.Strides != nil {
			step = c.info.Strides[k]
		}
		n, stride = n+(at[k]-c.offsets[k])*step, stride*c.sizes[k]
	}
	return n
}

// longer reports whether the element after a run follows it in the part, too.
func longer(c *chunk, all [][]int64, e int, first, count int64) bool {
	next := e + int(count)
	return next < len(all) && has(c, all[next]) && position(c, all[next]) == first+count
}
