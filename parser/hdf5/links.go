package hdf5

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Types of links.
const (
	linkHard     = 0
	linkSoft     = 1
	linkExternal = 64
)

// link reads a link of a group in the newer form:
//
//	version 1, flags, [type], [u64 order], [character set], length of the name, name, u64 header
//
// The lowest two bits of the flags say how many bytes the length has.
func (d *decoder) link(m *wire.Cursor) (l link, err error) {
	const where, hasType, hasOrder, hasSet = "group", 8, 4, 16
	at := m.Off()
	f := fields{c: m}
	version, flags := f.u8(), f.u8()
	if f.err == nil && (version != 1 || flags > 31) {
		return l, d.fail(where, at, errStructure.Errorf("version %d of a link, flags %#x", version, flags))
	}
	kind := byte(linkHard)
	if flags&hasType != 0 {
		kind = f.u8()
	}
	switch kind {
	case linkHard:
	case linkSoft:
		return l, d.fail(where, at, errFeature.Errorf("a soft link"))
	case linkExternal:
		return l, d.fail(where, at, errExternal.Errorf("a link leads to another file"))
	default:
		return l, d.fail(where, at, errFeature.Errorf("a link of type %d", kind))
	}
	if flags&hasOrder != 0 {
		f.skip(8)
	}
	if flags&hasSet != 0 {
		f.skip(1)
	}
	length := f.u(1 << (flags & 3))
	if f.err != nil {
		return l, f.err
	}
	if length > maxName {
		return l, d.fail(where, at, errName.Errorf("a name of %d bytes", length))
	}
	if l.name, err = m.String(length); err != nil {
		return l, err
	}
	l.header = f.u64()
	return l, f.err
}

// Dense links and attributes are in a heap, and a tree finds them by the hash of their name.
type denseLinks struct {
	at         int64
	heap, tree uint64
	ordered    uint64 // a tree of the same by the order in which they were made, or none
}

// denseLinks reads the location of a group's links in the newer form. They are messages unless
// there is a heap:
//
//	version 0, flags, [u64 greatest order], u64 heap, u64 tree by name, [u64 tree by order]
func (d *decoder) denseLinks(m *wire.Cursor) (*denseLinks, error) {
	return d.denseHead(m, "group", 8)
}

// denseInfo reads the location of an object's attributes, with u16 for the greatest order.
func (d *decoder) denseInfo(m *wire.Cursor) (*denseLinks, error) {
	return d.denseHead(m, "attribute", 2)
}

func (d *decoder) denseHead(m *wire.Cursor, where string, order uint64) (*denseLinks, error) {
	const ordered, indexed = 1, 2
	out := &denseLinks{at: m.Off()}
	p, err := m.View(2)
	if err != nil {
		return nil, err
	}
	version, flags := p[0], p[1]
	if version != 0 || flags&^(ordered|indexed) != 0 {
		return nil, d.fail(where, out.at, errStructure.Errorf("version %d of its places, flags %#x", version, flags))
	}
	skip := uint64(2)
	if flags&ordered != 0 {
		skip += order
	}
	if err := m.Skip(skip); err != nil {
		return nil, err
	}
	if out.ordered = none; flags&indexed != 0 {
		return out, numbers(m, &out.heap, &out.tree, &out.ordered)
	}
	return out, numbers(m, &out.heap, &out.tree)
}

// Kinds of the newer trees.
const (
	treeHuge       = 1  // objects outside of a heap
	treeNames      = 5  // links by the hash of their names
	treeOrdered    = 6  // links by the order in which they were made
	treeAttributes = 8  // attributes by the hash of their names
	treeMade       = 9  // attributes by the order in which they were made
	treeChunks     = 10 // chunks
	treeFiltered   = 11 // chunks that pass through filters
)

// readDense lists the links of a group that are in a heap.
func (d *decoder) readDense(in *denseLinks) (links []link, err error) {
	const where, record = "group", 11 // u32 hash, 7 bytes of the heap
	h, err := d.fractalHeap(in.heap)
	if err != nil {
		return nil, err
	}
	last, ids := foundName{}, identifiers{}
	err = d.tree2(where, in.tree, treeNames, func(int) int { return record }, func(p []byte) error {
		if err := ids.add(d.b, p[4:]); err != nil {
			return err
		}
		c, err := h.object(p[4:])
		if err != nil {
			return err
		}
		l, err := d.link(&c)
		if err != nil {
			return err
		}
		if last, err = d.inOrder(where, last, foundName{le32(p), l.name}); err != nil {
			return err
		}
		links, err = limits.Append(d.b, links, l)
		return err
	})
	if err == nil {
		err = d.sameOrdered(in, ids, treeOrdered, 15, 8, 15) // u64 order, 7 bytes of the heap
	}
	return links, err
}

// identifiers are the locations of objects in a heap.
type identifiers map[string]bool

func (ids identifiers) add(b *limits.Budget, id []byte) error {
	const cost = 48 // of an entry of the map
	err := b.Hold(cost)
	if err == nil {
		ids[string(id)] = true
	}
	return err
}

// sameOrdered proves that a tree by order, which h5py lists by, leads to the same as the one by
// name. Its records have the identifier at from to to.
func (d *decoder) sameOrdered(in *denseLinks, ids identifiers, kind byte, record, from, to int) error {
	const where = "group"
	if in.ordered == none {
		return nil
	}
	err := d.tree2(where, in.ordered, kind, func(int) int { return record }, func(p []byte) error {
		if !ids[string(p[from:to])] {
			return d.fail(where, d.c.Off(), errOrder.Errorf("the index by order has a member that the index by name does not have"))
		}
		delete(ids, string(p[from:to]))
		return nil
	})
	if err == nil && len(ids) > 0 {
		return d.fail(where, in.at, errOrder.Errorf("the index by order lacks %d of what the index by name has", len(ids)))
	}
	return err
}

// A foundName is a name that a tree finds by its hash.
type foundName struct {
	hash uint32
	name string
}

// inOrder checks that a binary search finds a name after the last one.
func (d *decoder) inOrder(where string, last, next foundName) (foundName, error) {
	switch {
	case next.hash != hash([]byte(next.name)):
		return last, d.fail(where, d.c.Off(), errOrder.Errorf("the library does not find %s by its hash", wire.Quote(next.name)))
	case last.name != "" && (next.hash < last.hash || next.hash == last.hash && next.name <= last.name):
		return last, d.fail(where, d.c.Off(), errOrder.Errorf("the library does not find %s, because it is in the wrong place", wire.Quote(next.name)))
	}
	return next, nil
}

func le32(p []byte) uint32 {
	return uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | uint32(p[3])<<24
}

func le64(p []byte) uint64 { return uint64(le32(p)) | uint64(le32(p[4:]))<<32 }
