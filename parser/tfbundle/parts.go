package tfbundle

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/grid"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A variable is a tensor in several parts.
type variable struct {
	at    int32 // in the list of entries
	parts []part
	grid  *grid.Grid
}

// A part is an entry and where its elements belong.
type part struct {
	grid.Part

	of int32 // in the list of entries
}

// isPartKey reports whether a key is that of a part: no name begins with a zero byte.
func isPartKey(key string) bool { return strings.HasPrefix(key, "\x00") }

// parts finds the parts of variables, and proves that they cover them.
func (d *decoder) parts() error {
	for i := range d.entries {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if e := &d.entries[i]; len(e.slices) > 0 {
			if err := d.variable(i, e); err != nil {
				return fail(whereOf(e.name), e.at, err)
			}
		}
	}
	for i := range d.entries {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if e := &d.entries[i]; isPartKey(e.name) && !e.part {
			return fail(whereOf(e.name), e.at, errUnused.Errorf("no variable has it"))
		}
	}
	return nil
}

// variable finds the parts of a variable.
func (d *decoder) variable(at int, e *entry) (err error) {
	if len(e.shape) > grid.MaxDims || isPartKey(e.name) {
		return errSlice.Errorf("a variable in parts of %d dimensions, or one that is a part itself", len(e.shape))
	}
	if types[e.dtype].width == 0 {
		return errType.Errorf("texts in parts")
	}
	v := variable{at: int32(at)}
	for k := range e.slices {
		p, err := d.part(e, &e.slices[k])
		if err != nil {
			return err
		}
		if n, _ := wire.Product(p.Sizes); n == 0 {
			continue
		}
		if v.parts, err = limits.Append(d.b, v.parts, p); err != nil {
			return err
		}
	}
	if n, _ := wire.Product(e.shape); n > 0 {
		v.grid, err = grid.New(d.b, e.shape, len(v.parts), func(k int) *grid.Part { return &v.parts[k].Part }, grid.Causes{Gap: errSliceGap, Overlap: errSliceTwo})
		if err != nil {
			return err
		}
	}
	d.out.variables, err = limits.Append(d.b, d.out.variables, v)
	return err
}

// box proves that a part lies inside of its variable.
func (d *decoder) box(e *entry, s *slice) (p part, err error) {
	if len(s.starts) != len(e.shape) {
		return p, errSlice.Errorf("a part of %d dimensions, of a variable of %d", len(s.starts), len(e.shape))
	}
	if p.Offsets, err = limits.Clone(d.b, s.starts); err != nil {
		return p, err
	}
	if p.Sizes, err = limits.Clone(d.b, s.lengths); err != nil {
		return p, err
	}
	whole := true
	for k, n := range e.shape {
		if p.Sizes[k] == full {
			p.Sizes[k] = n - p.Offsets[k]
		} else {
			whole = false
		}
		if begin, size := p.Offsets[k], p.Sizes[k]; begin < 0 || begin > n || size > n-begin || s.lengths[k] == full && begin != 0 {
			return p, errSlice.Errorf("a part of %d indices from %d on in dimension %d, which has %d", size, begin, k, n)
		}
	}
	if whole {
		return p, errSlice.Errorf("a part that is the variable: TensorFlow would not look for its numbers")
	}
	return p, nil
}

// part finds the entry of a part, which has its shape and the type of its variable.
func (d *decoder) part(e *entry, s *slice) (p part, err error) {
	if p, err = d.box(e, s); err != nil {
		return p, err
	}
	if err := d.steps.Take(1 + int64(len(e.name)+len(e.shape))/16); err != nil {
		return p, err
	}
	d.key = keyOf(d.key[:0], e.name, s)
	i, ok := slices.BinarySearchFunc(d.entries, string(d.key), func(e entry, key string) int { return strings.Compare(e.name, key) })
	if !ok {
		return p, errSlice.Errorf("its part of %d indices from %d on is not in the index", p.Sizes, p.Offsets)
	}
	o := &d.entries[i]
	switch p.of = int32(i); {
	case o.part:
		return p, errSliceTwo.Errorf("two parts begin at %d", p.Offsets)
	case len(o.slices) > 0 || o.dtype != e.dtype || !slices.Equal(o.shape, p.Sizes):
		return p, errSlice.Errorf("its part at %d has shape %d of %s, and is stored as shape %d of %s", p.Offsets, p.Sizes, types[e.dtype].name, o.shape, types[o.dtype].name)
	}
	o.part = true
	return p, nil
}

// keyOf appends the key of a part: EncodeTensorNameSlice of tensorflow/core/util/saved_tensor_slice_util.cc, in the encoding of
// tsl/lib/strings/ordered_code.cc.
func keyOf(out []byte, name string, s *slice) []byte {
	out = append(out, 0) // the number 0
	for i := range len(name) {
		switch c := name[i]; c {
		case 0:
			out = append(out, 0, 0xff)
		case 0xff:
			out = append(out, 0xff, 0)
		default:
			out = append(out, c)
		}
	}
	out = append(out, 0, 1)
	if n := byte(len(s.starts)); n == 0 {
		out = append(out, 0)
	} else {
		out = append(out, 1, n)
	}
	for k := range s.starts {
		out = signed(signed(out, s.starts[k]), s.lengths[k])
	}
	return out
}

// signed appends a number whose length is in its first bits, as many of them as bytes; those of a negative
// number are inverted.
func signed(out []byte, v int64) []byte {
	x := uint64(v ^ v>>63)
	n := bits.Len64(x)/7 + 1
	var room [10]byte
	room[0], room[1] = byte(v>>63), byte(v>>63)
	binary.BigEndian.PutUint64(room[2:], uint64(v))
	p := room[len(room)-n:]
	head := uint16(0xffff) << (16 - n)
	p[0] ^= byte(head >> 8)
	if n > 1 {
		p[1] ^= byte(head)
	}
	return append(out, p...)
}
