package hdf5

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

const treeWhere = "index of a group or of attributes"

// Types of trees in the newer form, by what their records are.
const (
	treeOfHuge       = 1  // u64 address, u64 length, u64 number
	treeOfLinks      = 5  // u32 hash of a name, identifier of 7 bytes
	treeOfLinksByAge = 6  // u64 order, identifier of 7 bytes
	treeOfAttributes = 8  // identifier of 8 bytes, flags, u32 order, u32 hash of a name
	treeOfAttrsByAge = 9  // identifier of 8 bytes, flags, u32 order
	maxTreeDepth     = 16 // 10^9 records in nodes of 512 bytes
)

// A tree2 is the way through a tree of the newer form.
type tree2 struct {
	kind          byte
	record        uint64
	counts, below [maxTreeDepth + 1]int // bytes of a count of records in a node, and in all below it, by level
	visit         func(record []byte) error
	found         uint64
	kept          [32]byte // the record at hand
}

// tree calls visit for each record of a tree:
//
//	"BTHD", version 0, type, u32 size of nodes, u16 size of records, u16 depth, 2 bytes, u64 root, u16 its records, u64 all, u32 sum
func (f *file) tree(address uint64, kind byte, record uint64, visit func(record []byte) error) error {
	const size, least, most = 34, 64, wire.Chunk
	if err := f.summed(treeWhere, address, size); err != nil {
		return err
	}
	if err := f.at(treeWhere, address); err != nil {
		return err
	}
	p, err := f.c.View(size)
	if err != nil {
		return err
	}
	u16, u64 := f.c.Order.Uint16, f.c.Order.Uint64
	node, depth, root, count, all := uint64(f.c.Order.Uint32(p[6:])), int(u16(p[12:])), u64(p[16:]), uint64(u16(p[24:])), u64(p[26:])
	switch {
	case string(p[:5]) != "BTHD\x00" || p[5] != kind || uint64(u16(p[10:])) != record:
		return f.fail(treeWhere, int64(address), errStructure.Errorf("it begins with % x, and is not a tree of type %d", p[:6], kind))
	case node < least || node > most || depth > maxTreeDepth:
		return f.fail(treeWhere, int64(address), errFeature.Errorf("nodes of %d bytes, %d levels", node, depth))
	}
	if err := f.claim(address); err != nil {
		return err
	}
	if root == none && all == 0 {
		return nil
	}
	t := &tree2{kind: kind, record: record, visit: visit}
	if !t.levels(node, depth) {
		return f.fail(treeWhere, int64(address), errStructure.Errorf("more records than 63 bits can count, in %d levels", depth))
	}
	if err := f.node2(t, root, count, depth); err != nil {
		return err
	}
	if t.found != all {
		return f.fail(treeWhere, int64(address), errStructure.Errorf("%d records, and it has %d", all, t.found))
	}
	return nil
}

// levels computes how many bytes the counts in nodes have, which the largest counts decide. Nodes
// have at least 64 bytes, more than a record and two pointers.
func (t *tree2) levels(node uint64, depth int) bool {
	const head, address = 10, 8 // of a node with its sum, of a pointer
	most := (node - head) / t.record
	t.counts[0] = lengthOf(most)
	all := most
	for level := 1; level <= depth; level++ {
		t.counts[level] = t.counts[0]
		pointer := uint64(address + t.counts[0] + t.below[level-1])
		n := (node - head - pointer) / (t.record + pointer)
		more, ok := wire.Mul(n+1, all)
		if all, ok = wire.Add(more, n); !ok {
			return false
		}
		t.below[level] = lengthOf(all)
	}
	return true
}

// node2 visits the records of a node and of what is below it:
//
//	"BTLF" or "BTIN", version 0, type, the records, for each node below: u64 address, its records, [all below it], u32 sum
func (f *file) node2(t *tree2, address, count uint64, level int) error {
	const head = 6
	mark, pointer := "BTLF\x00", uint64(0)
	if level > 0 {
		mark, pointer = "BTIN\x00", uint64(8+t.counts[0]+t.below[level-1])
	}
	size := head + count*t.record
	if level > 0 {
		size += (count + 1) * pointer
	}
	if err := f.summed(treeWhere, address, size); err != nil {
		return err
	}
	if err := f.claim(address); err != nil {
		return err
	}
	if err := f.at(treeWhere, address); err != nil {
		return err
	}
	p, err := f.c.View(head)
	if err != nil {
		return err
	}
	if string(p[:5]) != mark || p[5] != t.kind {
		return f.fail(treeWhere, int64(address), errStructure.Errorf("it begins with % x, and is not a node of type %d", p[:head], t.kind))
	}
	for i := range count {
		if err := f.look(treeWhere, address+head+i*t.record); err != nil {
			return err
		}
		t.found++
		p, err := f.c.View(int(t.record))
		if err != nil {
			return err
		}
		if err := t.visit(t.kept[:copy(t.kept[:], p)]); err != nil {
			return err
		}
	}
	if level == 0 {
		return nil
	}
	for i := range count + 1 {
		if err := f.look(treeWhere, address+head+count*t.record+i*pointer); err != nil {
			return err
		}
		p, err := f.c.View(int(pointer))
		if err != nil {
			return err
		}
		if err := f.node2(t, f.c.Order.Uint64(p), number(p[8:8+t.counts[0]]), level-1); err != nil {
			return err
		}
	}
	return nil
}

// look pays a step and goes to an address.
func (f *file) look(where string, address uint64) error {
	if err := f.steps.Step(); err != nil {
		return f.fail(where, f.c.Off(), err)
	}
	return f.at(where, address)
}

// indexed visits the links of a group, or the attributes of an object, that stand in a heap. The
// library takes an index by name, or one by age, which name the same parts.
func (f *file) indexed(heap, byName, byAge uint64, ofLinks bool) error {
	const identifierOfLink, identifierOfAttribute, shared = 7, 8, 2
	identifier, before := identifierOfAttribute, 0
	if ofLinks {
		identifier = identifierOfLink
	}
	h, err := f.fractal(heap, identifier)
	if err != nil {
		return err
	}
	visit := func(p []byte) error {
		if !ofLinks && p[identifier]&shared != 0 {
			return f.fail(treeWhere, f.c.Off(), errFeature.Errorf("an attribute that stands elsewhere"))
		}
		m, known, err := f.part(h, p[before:before+identifier])
		switch {
		case err != nil || known:
			return err
		case ofLinks:
			return f.link(&m)
		}
		return f.attribute(&m)
	}
	byNames, byAges := [2]uint64{treeOfAttributes, 17}, [2]uint64{treeOfAttrsByAge, 13}
	if ofLinks {
		byNames, byAges = [2]uint64{treeOfLinks, 11}, [2]uint64{treeOfLinksByAge, 15}
	}
	for _, index := range [...]struct {
		at, before uint64
		is         [2]uint64
	}{{byName, 4, byNames}, {byAge, 8, byAges}} {
		if index.at == none {
			continue
		}
		if before = 0; ofLinks {
			before = int(index.before)
		}
		if err := f.tree(index.at, byte(index.is[0]), index.is[1], visit); err != nil {
			return err
		}
	}
	return nil
}
