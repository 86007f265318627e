package vm

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// smallTable is the number of keys from which a hash table is made.
const smallTable = 16

// sameHash bounds the keys of a container that have one hash in Python. Keys that were not chosen
// to collide have two: -1 and -2.
const sameHash = 64

// tableCost is the size of an entry in the map of tables, with the struct.
const tableCost = 128

// A table finds the keys of a dict, or the elements of a set, by hash. The hash is
// seeded, so that no choice of keys makes it slow here. Those of numbers and of tuples are
// made of Python's, which has no seed for them: there, such keys make it slow.
type table struct {
	slots []uint64 // 0, or the upper half of the hash and the index of the key + 1
	count int
}

// setItems sets entries, given as key, value, key, value.
func (m *machine) setItems(r ref, items []ref) error {
	if len(items)%2 != 0 {
		return wire.ErrSyntax.WithRule("pickle.entry").Errorf("a key without a value")
	}
	if err := m.changes(r, items); err != nil {
		return err
	}
	for ; len(items) > 0; items = items[2:] {
		if err := m.setItem(r, items[0], items[1]); err != nil {
			return err
		}
	}
	return nil
}

// setItem sets one entry. A duplicate key is refused: no pickler writes one, and it would
// hide the first value from readers.
func (m *machine) setItem(r, key, value ref) error {
	n := m.g.node(r)
	at, found, err := m.findKey(r, n, key, 2)
	if err != nil {
		return err
	}
	if found {
		*m.g.elems.at(n.a + 2*at + 1) = value
		return m.strict(errKeyTwice, "key %s", key)
	}
	if err := m.count(); err != nil {
		return err
	}
	run, err := m.grown(n.a, 2*int(n.n), 2)
	if err != nil {
		return err
	}
	n.a = run
	*m.g.elems.at(run + 2*n.n) = key
	*m.g.elems.at(run + 2*n.n + 1) = value
	n.n++
	return nil
}

// addItems adds elements to a set.
func (m *machine) addItems(r ref, items []ref) error {
	if err := m.changes(r, items); err != nil {
		return err
	}
	for _, item := range items {
		if err := m.addItem(r, item); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) addItem(r, item ref) error {
	n := m.g.node(r)
	_, found, err := m.findKey(r, n, item, 1)
	if err != nil {
		return err
	}
	if found {
		return m.strict(errKeyTwice, "element %s", item)
	}
	if err := m.count(); err != nil {
		return err
	}
	run, err := m.grown(n.a, int(n.n), 1)
	if err != nil {
		return err
	}
	n.a = run
	*m.g.elems.at(run + n.n) = item
	n.n++
	return nil
}

// findKey looks for a key among the keys of a container, which are stride elements apart.
// A new key is added to the table as the next one.
func (m *machine) findKey(r ref, n *node, key ref, stride uint32) (at uint32, found bool, err error) {
	if err := m.keyed(key); err != nil {
		return 0, false, err
	}
	// Tuples are only compared by hash, since comparing with each would walk them many
	// times.
	if n.n < smallTable && m.tables[uint32(r)] == nil && m.g.kind(key) != KindTuple {
		for i := range n.n {
			if equal, err := m.match.same(m.g.elem(n.a+i*stride), key); err != nil || equal {
				return i, equal, err
			}
		}
		return 0, false, nil
	}
	t, err := m.table(r, n, stride)
	if err != nil {
		return 0, false, err
	}
	hash, err := m.hash(key)
	if err != nil {
		return 0, false, err
	}
	slot, err := m.slot(t, n, key, hash, stride)
	if err != nil {
		return 0, false, err
	}
	if found := uint32(t.slots[slot]); found != 0 {
		return found - 1, true, nil
	}
	t.slots[slot] = hash&^indexMask | uint64(n.n+1)
	t.count++
	return 0, false, nil
}

// table returns the table of a container, with room for one more key.
func (m *machine) table(r ref, n *node, stride uint32) (*table, error) {
	t := m.tables[uint32(r)]
	if t == nil {
		if err := m.tmp.Hold(tableCost); err != nil {
			return nil, err
		}
		if m.tables == nil {
			m.tables = map[uint32]*table{}
		}
		t = &table{}
		m.tables[uint32(r)] = t
	}
	if 4*(t.count+1) <= 3*len(t.slots) {
		return t, nil
	}
	slots, err := limits.Make[uint64](&m.tmp, max(2*smallTable, 2*len(t.slots)))
	if err != nil {
		return nil, err
	}
	old := t.slots
	t.slots, t.count = slots, int(n.n)
	if old == nil {
		for i := range n.n {
			hash, err := m.hash(m.g.elem(n.a + i*stride))
			if err != nil {
				return nil, err
			}
			t.enter(hash&^indexMask | uint64(i+1))
		}
	}
	for _, s := range old {
		if s != 0 {
			t.enter(s)
		}
	}
	m.tmp.Drop(8 * int64(len(old)))
	return t, nil
}

// indexMask is the index half of a slot. The other half is all of the hash that a table
// uses, so that growing needs no hashing.
const indexMask = 1<<32 - 1

// enter puts a slot in its place; its key is not in the table.
func (t *table) enter(s uint64) {
	mask := uint64(len(t.slots) - 1)
	i := s >> 32 & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}

// slot returns the position of a key, or the free position where it belongs.
func (m *machine) slot(t *table, n *node, key ref, hash uint64, stride uint32) (uint64, error) {
	mask, others := uint64(len(t.slots)-1), 0
	for i := hash >> 32 & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == 0 {
			return i, nil
		}
		if s>>32 != hash>>32 {
			continue
		}
		if equal, err := m.match.same(m.g.elem(n.a+uint32(s-1)*stride), key); err != nil || equal {
			return i, err
		}
		if others++; others < sameHash {
			continue
		}
		if err := m.strict(errKeyHash, "more than 64 keys have one hash in Python, which compares a key with each of them", refAbsent); err != nil {
			return 0, err
		}
		m.cost++ // a scan goes on
		if err := m.settle(); err != nil {
			return 0, err
		}
	}
}
