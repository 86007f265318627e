package hdf5

// names are the bytes in which the names of a group's members stand.
type names struct{ at, size uint64 }

// group queues the tree of a group. The library takes it from the header of the group or
// from the entry that leads there.
func (f *file) group(tree, heap uint64) error {
	if f.seen[tree] {
		return nil
	}
	n, err := f.heap(heap)
	if err != nil {
		return err
	}
	return f.add(task{at: tree, kind: aNode, level: anyLevel, names: n})
}

// anyLevel is the level of a root, which is not known yet.
const anyLevel = 255

// heap reads where the names of a group stand:
//
//	"HEAP", version 0, 3 zeros, u64 size of the names, u64 first free, u64 address
func (f *file) heap(address uint64) (n names, err error) {
	const where = "names of a group"
	if err := f.at(where, address); err != nil {
		return n, err
	}
	if err := f.signature(where, "HEAP", 0); err != nil {
		return n, err
	}
	if err := f.c.Skip(3); err != nil {
		return n, err
	}
	var v [3]uint64
	for i := range v {
		if v[i], err = f.c.U64(); err != nil {
			return n, err
		}
	}
	n = names{v[2], v[0]}
	if end := n.at + n.size; end < n.at || end > uint64(f.size) {
		return n, f.fail(where, int64(address), errStructure.Errorf("%d bytes of names at %#x, in a file of %d", n.size, n.at, f.size))
	}
	return n, nil
}

// node queues what a node of a tree leads to:
//
//	"TREE", type 0, level, u16 entries, u64 left, u64 right, then for each: u64 key, u64 address
func (f *file) node(t task) error {
	const where = "node of a group"
	if err := f.at(where, t.at); err != nil {
		return err
	}
	if err := f.signature(where, "TREE", 0); err != nil {
		return err
	}
	level, err := f.c.U8()
	if err != nil {
		return err
	}
	if t.level != anyLevel && level != t.level {
		return f.fail(where, int64(t.at), errStructure.Errorf("level %d below level %d", level, t.level+1))
	}
	count, err := f.c.U16()
	if err != nil {
		return err
	}
	if err := f.c.Skip(16); err != nil { // its neighbours
		return err
	}
	below := task{kind: aLeaf, names: t.names}
	if level > 0 {
		below.kind, below.level = aNode, level-1
	}
	for range count {
		if err := f.steps.Step(); err != nil {
			return f.fail(where, f.c.Off(), err)
		}
		if err := f.c.Skip(8); err != nil {
			return err
		}
		if below.at, err = f.c.U64(); err != nil {
			return err
		}
		if err := f.add(below); err != nil {
			return err
		}
	}
	return nil
}

// What an entry of a group keeps of its object.
const (
	aGroup    = 1 // u64 tree, u64 names
	aSoftLink = 2 // where its path stands
)

// leaf queues the members of a group:
//
//	"SNOD", version 1, 0, u16 entries, then for each: u64 name, u64 header, u32 kind, 20 bytes
func (f *file) leaf(t task) error {
	const where, entry = "members of a group", 40
	if err := f.at(where, t.at); err != nil {
		return err
	}
	if err := f.signature(where, "SNOD", 1); err != nil {
		return err
	}
	if err := f.c.Skip(1); err != nil {
		return err
	}
	count, err := f.c.U16()
	if err != nil {
		return err
	}
	for range count {
		if err := f.steps.Step(); err != nil {
			return f.fail(where, f.c.Off(), err)
		}
		at := f.c.Off()
		p, err := f.c.View(entry)
		if err != nil {
			return err
		}
		name, header, kept := f.c.Order.Uint64(p), f.c.Order.Uint64(p[8:]), f.c.Order.Uint32(p[16:])
		switch {
		case name >= t.names.size:
			return f.fail(where, at, errStructure.Errorf("the name of a member is at %d of %d bytes", name, t.names.size))
		case kept == aSoftLink:
			return f.fail(where, at, errFeature.Errorf("a soft link, which Keras does not follow"))
		case kept > aSoftLink:
			return f.fail(where, at, errStructure.Errorf("a member of kind %d", kept))
		}
		tree, heap := f.c.Order.Uint64(p[24:]), f.c.Order.Uint64(p[32:])
		if err := f.object(header); err != nil {
			return err
		}
		if kept == aGroup {
			if err := f.group(tree, heap); err != nil {
				return err
			}
		}
		if err := f.c.MoveTo(at + entry); err != nil {
			return err
		}
	}
	return nil
}
