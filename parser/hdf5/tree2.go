package hdf5

import (
	"math/bits"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A tree2 is a tree of the newer kind: records in order, some of them between the nodes of the
// level below.
type tree2 struct {
	d      *decoder
	where  string
	kind   byte
	node   int // bytes of a node
	record int // bytes of a record
	levels []level2
	visit  func(record []byte) error
	left   uint64 // records that the header states
}

// A level2 is what the nodes of a level may have, the leaves first.
type level2 struct {
	records   uint64 // in a node
	all       uint64 // in a node and below
	allBytes  int    // of a number of these
	childSize int    // of what leads to a node below
}

// nodeAround is the size of a node besides its records: signature, version, kind, checksum.
const nodeAround = 10

// maxNode bounds a node; the library's have 512 and 2,048 bytes.
const maxNode = 32 << 10

// tree2 calls visit for each record of a tree, in order. size returns how long a record must be,
// of which the header says how long it is.
func (d *decoder) tree2(where string, address uint64, kind byte, size func(stated int) int, visit func(record []byte) error) error {
	const head = 34
	if err := d.claim(address); err != nil {
		return err
	}
	if err := d.at(where, address); err != nil {
		return err
	}
	if err := d.sum(where, head); err != nil {
		return err
	}
	at := d.c.Off()
	if err := d.signature(where, "BTHD", 0); err != nil {
		return err
	}
	f := fields{c: &d.c}
	is, node := f.u8(), f.u(4)
	t := &tree2{d: d, where: where, kind: is, node: int(min(node, maxNode+1)), record: int(f.u16()), visit: visit}
	depth := int(f.u16())
	f.skip(2)
	root, count := f.u64(), f.u(2)
	t.left = f.u64()
	switch {
	case f.err != nil:
		return f.err
	case t.kind != kind:
		return d.fail(where, at, errStructure.Errorf("a tree of kind %d, not %d", t.kind, kind))
	case t.node > maxNode || t.record < 1 || t.record != size(t.record) || t.node < nodeAround+t.record:
		return d.fail(where, at, errFeature.Errorf("nodes of %d bytes with records of %d", node, t.record))
	case root == none && t.left == 0:
		return nil
	}
	if err := t.measure(depth); err != nil {
		return d.fail(where, at, err)
	}
	return t.all(root, depth, count, at)
}

// all visits all records.
func (t *tree2) all(root uint64, depth int, count uint64, at int64) error {
	if err := t.walk(root, depth, count); err != nil {
		return err
	}
	if t.left != 0 {
		return t.d.fail(t.where, at, errStructure.Errorf("%d records are missing", t.left))
	}
	return nil
}

// measure computes what each level may have: a child is an address, the number of its records and,
// above the parents of leaves, the number of all records below it, in the bytes that the greatest
// number needs.
func (t *tree2) measure(depth int) error {
	const most = 32
	leaf := level2{records: uint64((t.node - nodeAround) / t.record)}
	leaf.all = leaf.records
	t.levels = append(make([]level2, 0, most+1), leaf)
	if depth > most {
		return errStructure.Errorf("%d levels", depth)
	}
	for l := 1; l <= depth; l++ {
		below := t.levels[l-1]
		v := level2{childSize: 8 + bytesFor(leaf.records) + below.allBytes}
		if room := t.node - nodeAround - v.childSize; room > 0 {
			v.records = uint64(room / (t.record + v.childSize))
		}
		all, ok := wire.Mul(v.records+1, below.all)
		if !ok || v.records == 0 || all > 1<<62 {
			return errFeature.Errorf("%d levels of nodes of %d bytes", depth, t.node)
		}
		v.all = all + v.records
		v.allBytes = bytesFor(v.all)
		t.levels = append(t.levels, v)
	}
	return nil
}

// bytesFor returns how many bytes a number up to n takes.
func bytesFor(n uint64) int { return (bits.Len64(max(n, 1))-1)/8 + 1 }

// walk visits the records of a node and of those below it.
func (t *tree2) walk(address uint64, level int, count uint64) error {
	d, v := t.d, t.levels[level]
	if err := d.b.Enter(); err != nil {
		return d.fail(t.where, d.c.Off(), err)
	}
	defer d.b.Leave()
	w := d.b.Workspace()
	defer w.Close()
	p, at, err := t.load(&w, address, level, count)
	if err != nil {
		return err
	}
	t.left -= count
	records, children := p[:int(count)*t.record], p[int(count)*t.record:]
	for i := 0; ; i++ {
		if level > 0 {
			child := children[i*v.childSize:]
			n := little(child[8 : 8+bytesFor(t.levels[0].records)])
			if err := t.walk(le64(child), level-1, n); err != nil {
				return err
			}
		}
		if i == int(count) {
			return nil
		}
		if err := d.steps.Step(); err != nil {
			return d.fail(t.where, at, err)
		}
		if err := d.c.MoveTo(at); err != nil {
			return err
		}
		if err := t.visit(records[i*t.record : (i+1)*t.record]); err != nil {
			return err
		}
	}
}

// load reads a node, and returns its records and what leads to the nodes below it.
func (t *tree2) load(w *limits.Workspace, address uint64, level int, count uint64) (p []byte, at int64, err error) {
	d, v := t.d, t.levels[level]
	if err := d.claim(address); err != nil {
		return nil, 0, err
	}
	if err := d.at(t.where, address); err != nil {
		return nil, 0, err
	}
	at = d.c.Off()
	if count > v.records || count > t.left {
		return nil, at, d.fail(t.where, at, errStructure.Errorf("%d records in a node for %d, of %d", count, v.records, t.left))
	}
	used, sign := nodeAround-4+int(count)*t.record, "BTLF"
	if level > 0 {
		used, sign = used+(int(count)+1)*v.childSize, "BTIN"
	}
	if err := d.sum(t.where, uint64(used)); err != nil {
		return nil, at, err
	}
	view, err := d.c.View(used)
	if err != nil {
		return nil, at, err
	}
	if string(view[:4]) != sign || view[4] != 0 || view[5] != t.kind {
		return nil, at, d.fail(t.where, at, errStructure.Errorf("it begins with % x, not with %q and kind %d", view[:6], sign, t.kind))
	}
	if p, err = limits.Clone(w, view); err != nil {
		return nil, at, d.fail(t.where, at, err)
	}
	return p[6:], at, nil
}
