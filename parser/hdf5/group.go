package hdf5

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A link is a name that leads to an object.
type link struct {
	name   string
	header uint64
	root   bool
	known  *symbols // what the entry that leads there says of it, or nil
}

// Symbols are the tree of a group in the older form, and the names of its members.
type symbols struct{ tree, heap uint64 }

// push notes an object that is visited later.
func (d *decoder) push(l link) error {
	var err error
	d.todo, err = limits.Append(d.b, d.todo, l)
	return d.fail("", d.c.Off(), err)
}

// object visits what a link leads to.
func (d *decoder) object(l link) error {
	at := d.place(l.header)
	if is, ok := d.objects[l.header]; ok {
		switch {
		case is == isGroup:
			return d.fail("group "+wire.Quote(l.name), at, errFeature.Errorf("a group with two names"))
		case is == isType:
			return nil
		}
		return d.named(l, is)
	}
	o, err := d.header(l.header)
	if err != nil {
		return err
	}
	if err := d.b.Hold(32); err != nil { // of an entry of the map
		return d.fail("", at, err)
	}
	// The library makes a group of the newer form as soon as a member's name is not ASCII, and leaves in
	// the entry where the members were: nothing reads that any more.
	if l.known != nil && (o.symbols != nil && *o.symbols != *l.known || !o.isGroup()) {
		return d.fail("members of a group", at, errStructure.Errorf("the entry of a group and its header differ in where its members are"))
	}
	if err := d.keepAttributes(o, l); err != nil {
		return err
	}
	return d.kindOf(o, l)
}

// kindOf goes on with a group or a dataset.
func (d *decoder) kindOf(o *object, l link) error {
	at := d.place(l.header)
	switch {
	case o.isGroup() && o.isDataset():
		return d.fail("header of an object", at, errStructure.Errorf("a group with data"))
	case o.isGroup():
		d.objects[l.header] = isGroup
		return d.members(o, l)
	case l.root:
		return d.fail("header of an object", at, errStructure.Errorf("the root is not a group"))
	case o.isDataset():
		d.objects[l.header] = int32(len(d.out.datasets))
		if err := d.dataset(o); err != nil {
			return wire.At(Format, "dataset "+wire.Quote(l.name), at, err)
		}
		return d.named(l, d.objects[l.header])
	case o.typ != nil:
		d.objects[l.header] = isType
		return nil
	}
	return d.fail("header of an object", at, errStructure.Errorf("neither a group nor a dataset"))
}

// members visits the members of a group next, in the order of their names.
func (d *decoder) members(o *object, in link) (err error) {
	at := d.place(o.at)
	links := o.links
	switch {
	case o.symbols != nil && (o.dense != nil || len(links) > 0), o.dense != nil && o.dense.heap != none && len(links) > 0:
		return d.fail("group", at, errStructure.Errorf("a group in two forms"))
	case o.symbols != nil:
		links, err = d.symbolTable(*o.symbols)
	case o.dense != nil && o.dense.heap != none:
		links, err = d.readDense(o.dense)
	}
	if err != nil {
		return err
	}
	err = limits.SortUnstable(d.b, links, func(a, b link) int { return cmp.Compare(a.name, b.name) })
	if err != nil {
		return d.fail("group", at, err)
	}
	for i := len(links) - 1; i >= 0; i-- {
		l := links[i]
		err := d.steps.Step()
		if err == nil && i > 0 && links[i-1].name == l.name {
			err = wire.ErrDuplicate.WithRule("hdf5.name-twice").Errorf("two members %s", wire.Quote(l.name))
		}
		if err == nil {
			l.name, err = d.path(in, l.name)
		}
		if err == nil {
			err = d.push(l)
		}
		if err != nil {
			return d.fail("group", at, err)
		}
	}
	return nil
}

// path returns the path of a member of a group. It refuses a name that no path leads to.
func (d *decoder) path(in link, name string) (string, error) {
	switch {
	case name == "" || name == "." || strings.Contains(name, "/"):
		return "", errName.Errorf("a member %s, which no path leads to", wire.Quote(name))
	case !utf8.ValidString(name):
		return "", errName.Errorf("the name %s is not UTF-8", wire.Quote(name))
	case in.root:
		return name, nil
	}
	p, err := limits.Make[byte](d.b, len(in.name)+1+len(name))
	if err != nil {
		return "", err
	}
	copy(p, in.name)
	p[len(in.name)] = '/'
	copy(p[len(in.name)+1:], name)
	return string(p), nil
}

// maxName bounds a name: one that is longer does not fit in what is read at a time.
const maxName = 4096

// A heap is the bytes that hold the names of a group's members.
type heap struct{ at, size uint64 }

// localHeap reads the location of a group's names:
//
//	"HEAP", version 0, 3 zeros, u64 size of the names, u64 first free, u64 address
func (d *decoder) localHeap(address uint64) (n heap, err error) {
	const where = "names of a group"
	if err := d.claim(address); err != nil {
		return n, err
	}
	if err := d.at(where, address); err != nil {
		return n, err
	}
	if err := d.signature(where, "HEAP", 0); err != nil {
		return n, err
	}
	if err := d.c.Skip(3); err != nil {
		return n, err
	}
	var free uint64
	if err := numbers(&d.c, &n.size, &free, &n.at); err != nil {
		return n, err
	}
	if end, ok := wire.Add(n.at, n.size); !ok || end > uint64(d.size-d.base) {
		return n, d.fail(where, d.place(address), errStructure.Errorf("%d bytes of names at %#x, in a file of %d", n.size, n.at, d.size-d.base))
	}
	return n, nil
}

// name reads a name of a heap, which ends with a zero.
func (d *decoder) name(n heap, at uint64) (string, error) {
	const where = "names of a group"
	if at >= n.size {
		return "", d.fail(where, d.c.Off(), errStructure.Errorf("the name of a member is at %d of %d bytes", at, n.size))
	}
	c := d.c
	if err := c.MoveTo(d.base + int64(n.at+at)); err != nil {
		return "", err
	}
	p, err := c.View(int(min(n.size-at, maxName+1)))
	if err != nil {
		return "", err
	}
	end := bytes.IndexByte(p, 0)
	if end < 0 {
		return "", d.fail(where, c.Off(), errStructure.Errorf("the name of a member has no end, or more than %d bytes", maxName))
	}
	return limits.String(d.b, p[:end])
}

// A node is one of the tree of a group, and the names that the library finds in it: those
// after the first, up to the last.
type node struct {
	at          uint64
	level       uint8
	after, upTo string
	open        bool // nothing is known yet: the root
}

// symbolTable lists the members of a group in the older form.
func (d *decoder) symbolTable(s symbols) (links []link, err error) {
	names, err := d.localHeap(s.heap)
	if err != nil {
		return nil, err
	}
	todo := []node{{at: s.tree, level: anyLevel, open: true}}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if err := d.claim(n.at); err != nil {
			return nil, err
		}
		if n.level == isLeaf {
			links, err = d.leaf(n, names, links)
		} else {
			todo, err = d.node(n, names, todo)
		}
		if err != nil {
			return nil, err
		}
	}
	return links, nil
}

const (
	// anyLevel is the level of a root, which is not known yet.
	anyLevel = 255
	// isLeaf is that of the lists of members below a tree.
	isLeaf = 254
)

// node queues what a node of a tree leads to:
//
//	"TREE", type 0, level, u16 entries, u64 left, u64 right, then for each: u64 key, u64 address; u64 key
//
// A key is a name. The library finds, with the entry between two keys, the names after the first
// up to the second.
func (d *decoder) node(n node, names heap, todo []node) ([]node, error) {
	const where = "node of a group"
	count, level, err := d.treeHead(where, n.at, n.level, 0)
	if err != nil {
		return nil, err
	}
	child := node{level: isLeaf}
	if level > 0 {
		child.level = level - 1
	}
	first := len(todo)
	left, err := d.key(names)
	if err != nil {
		return nil, err
	}
	for range count {
		if err := d.steps.Step(); err != nil {
			return nil, d.fail(where, d.c.Off(), err)
		}
		if child.at, err = d.c.U64(); err != nil {
			return nil, err
		}
		right, err := d.key(names)
		if err != nil {
			return nil, err
		}
		if child.after, child.upTo = left, right; !n.open {
			child.after, child.upTo = max(left, n.after), min(right, n.upTo)
		}
		if todo, err = limits.Append(d.b, todo, child); err != nil {
			return nil, d.fail(where, d.c.Off(), err)
		}
		left = right
	}
	slices.Reverse(todo[first:]) // the first is taken next
	return todo, nil
}

// treeHead reads the beginning of a node of the older trees.
func (d *decoder) treeHead(where string, address uint64, want, kind byte) (count uint16, level byte, err error) {
	if err := d.at(where, address); err != nil {
		return 0, 0, err
	}
	if err := d.signature(where, "TREE", kind); err != nil {
		return 0, 0, err
	}
	if level, err = d.c.U8(); err != nil {
		return 0, 0, err
	}
	if want != anyLevel && level != want || level >= isLeaf {
		return 0, 0, d.fail(where, d.place(address), errStructure.Errorf("level %d below level %d", level, int(want)+1))
	}
	if count, err = d.c.U16(); err != nil {
		return 0, 0, err
	}
	return count, level, d.c.Skip(16) // its neighbours
}

// key reads a key of a tree of names.
func (d *decoder) key(names heap) (string, error) {
	at, err := d.c.U64()
	if err != nil {
		return "", err
	}
	return d.name(names, at)
}

// The cached data of an object in the entry of a group.
const (
	aGroup    = 1 // u64 tree, u64 names
	aSoftLink = 2 // the offset of its path
)

// leaf adds members of a group:
//
//	"SNOD", version 1, 0, u16 entries, then for each: u64 name, u64 header, u32 kind, 20 bytes
func (d *decoder) leaf(n node, names heap, links []link) ([]link, error) {
	const where = "members of a group"
	if err := d.at(where, n.at); err != nil {
		return nil, err
	}
	if err := d.signature(where, "SNOD", 1); err != nil {
		return nil, err
	}
	f := fields{c: &d.c}
	f.skip(1)
	count := f.u16()
	if f.err != nil {
		return nil, f.err
	}
	for range count {
		if err := d.steps.Step(); err != nil {
			return nil, d.fail(where, d.c.Off(), err)
		}
		at := d.c.Off()
		l, err := d.entry(names)
		if err != nil {
			return nil, err
		}
		if len(links) > 0 && l.name <= links[len(links)-1].name || l.name <= n.after || l.name > n.upTo {
			return nil, d.fail(where, at, errOrder.Errorf("the library does not find the member %s, because it is in the wrong place", wire.Quote(l.name)))
		}
		if links, err = limits.Append(d.b, links, l); err != nil {
			return nil, d.fail(where, at, err)
		}
	}
	return links, nil
}

// entry reads an entry of a group.
func (d *decoder) entry(names heap) (l link, err error) {
	const where = "members of a group"
	at := d.c.Off()
	f := fields{c: &d.c}
	nameAt, header, kept := f.u64(), f.u64(), f.u32()
	f.skip(4)
	known := symbols{f.u64(), f.u64()}
	l.header = header
	switch {
	case f.err != nil:
		return l, f.err
	case kept == aSoftLink:
		return l, d.fail(where, at, errFeature.Errorf("a soft link"))
	case kept > aSoftLink:
		return l, d.fail(where, at, errStructure.Errorf("a member of kind %d", kept))
	case kept == aGroup:
		l.known = &known
	}
	l.name, err = d.name(names, nameAt)
	return l, err
}
