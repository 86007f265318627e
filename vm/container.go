package vm

import (
	"math"
	"math/bits"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// saturated is the size of a tree that is too large to count.
const saturated = math.MaxUint32

// opMark opens a mark. Values are made of what is above a mark, so open marks are levels
// of nesting.
func (m *machine) opMark() error {
	if len(m.marks) >= int(m.maxDepth) {
		return &limits.Error{Axis: limits.Depth, Want: int64(len(m.marks)) + 1, Left: int64(m.maxDepth)}
	}
	if len(m.marks) == cap(m.marks) {
		grown, err := limits.Grow(&m.tmp, m.marks, 1)
		if err != nil {
			return err
		}
		m.marks = grown
	}
	m.low = len(m.stack)
	m.marks = append(m.marks, uint32(m.low))
	return nil
}

// A trunk is what a container needs to know about its elements.
type trunk struct {
	depth  uint16
	size   uint32
	noHash uint8
}

// absorb updates a trunk with items, and marks them as referenced.
func (m *machine) absorb(t *trunk, items []ref) {
	for _, r := range items {
		if r >= inline {
			t.size = satAdd(t.size, 1)
			continue
		}
		n := m.g.node(r)
		n.flags |= flagStored
		t.depth = max(t.depth, n.depth)
		t.size = satAdd(t.size, n.size)
		t.noHash |= n.flags & flagNoHash
	}
}

func satAdd(a, b uint32) uint32 {
	sum, carry := bits.Add32(a, b, 0)
	if carry != 0 {
		return saturated
	}
	return sum
}

// deeper returns the depth of a container whose elements have depth d.
func (m *machine) deeper(d uint16) (uint16, error) {
	if d >= m.maxDepth {
		return 0, &limits.Error{Axis: limits.Depth, Want: int64(d) + 1, Left: int64(m.maxDepth)}
	}
	return d + 1, nil
}

// store copies items to a run with room elements and returns its start.
func (m *machine) store(items []ref, room int) (uint32, error) {
	at, err := m.g.elems.reserve(&m.work, room)
	if err != nil {
		return 0, err
	}
	m.g.elems.copyIn(at, items)
	return at, nil
}

// sequence makes a tuple of items.
func (m *machine) sequence(items []ref) (ref, error) {
	if len(items) == 0 {
		return refEmpty, nil
	}
	t := trunk{size: 1}
	m.absorb(&t, items)
	depth, err := m.deeper(t.depth)
	if err != nil {
		return 0, err
	}
	at, err := m.store(items, len(items))
	if err != nil {
		return 0, err
	}
	return m.add(node{kind: KindTuple, flags: t.noHash, depth: depth, a: at, n: uint32(len(items)), size: t.size})
}

func (m *machine) opEmptyTuple() error { return m.push(refEmpty) }

func (m *machine) opTuple() error {
	items, err := m.popMark()
	if err != nil {
		return err
	}
	r, err := m.sequence(items)
	if err != nil {
		return err
	}
	return m.push(r)
}

func (m *machine) opTuple1() error { return m.fold(1) }
func (m *machine) opTuple2() error { return m.fold(2) }
func (m *machine) opTuple3() error { return m.fold(3) }

// fold makes a tuple of the n top values.
func (m *machine) fold(n int) error {
	if err := m.have(n); err != nil {
		return err
	}
	at := len(m.stack) - n
	r, err := m.sequence(m.stack[at:])
	if err != nil {
		return err
	}
	m.stack = append(m.stack[:at], r)
	return nil
}

// empty pushes an empty container, which has no run of elements yet.
func (m *machine) empty(kind Kind, flags uint8) error {
	return m.pushNew(node{kind: kind, flags: flags, depth: 1, size: 1})
}

func (m *machine) opEmptyList() error { return m.empty(KindList, flagNoHash) }
func (m *machine) opEmptyDict() error { return m.empty(KindDict, flagNoHash) }
func (m *machine) opEmptySet() error  { return m.empty(KindSet, flagNoHash) }

func (m *machine) opList() error {
	items, err := m.popMark()
	if err != nil {
		return err
	}
	r, err := m.add(node{kind: KindList, flags: flagNoHash, depth: 1, size: 1})
	if err != nil {
		return err
	}
	if err := m.extend(r, items); err != nil {
		return err
	}
	return m.push(r)
}

func (m *machine) opDict() error {
	items, err := m.popMark()
	if err != nil {
		return err
	}
	r, err := m.add(node{kind: KindDict, flags: flagNoHash, depth: 1, size: 1})
	if err != nil {
		return err
	}
	if err := m.setItems(r, items); err != nil {
		return err
	}
	return m.push(r)
}

func (m *machine) opFrozenSet() error {
	items, err := m.popMark()
	if err != nil {
		return err
	}
	r, err := m.add(node{kind: KindSet, flags: classFlags[FrozenSet], depth: 1, size: 1})
	if err != nil {
		return err
	}
	if err := m.addItems(r, items); err != nil {
		return err
	}
	return m.push(r)
}

// roomFor returns the capacity of a run of n elements. Growing runs double.
func roomFor(n int) int {
	if n <= 4 {
		return 4 * min(n, 1)
	}
	return 1 << bits.Len(uint(n-1))
}

// grown makes room for more elements after the have elements of the run at a, and returns
// the start of the run, which may have moved.
func (m *machine) grown(a uint32, have, more int) (uint32, error) {
	old, want := roomFor(have), roomFor(have+more)
	if want == old {
		return a, nil
	}
	if have > 0 && a+uint32(old) == m.g.elems.len {
		_, err := m.g.elems.reserve(&m.work, want-old)
		return a, err
	}
	at, err := m.g.elems.reserve(&m.work, want)
	if err != nil {
		return 0, err
	}
	m.g.elems.move(at, a, have)
	return at, nil
}

// changes prepares a container for new items. If something already refers to the
// container, the recorded depth and size of that become too small.
func (m *machine) changes(r ref, items []ref) error {
	if len(items) == 0 {
		return nil
	}
	if err := m.unfrozen(r); err != nil {
		return err
	}
	t := trunk{size: m.g.node(r).size}
	m.absorb(&t, items)
	depth, err := m.deeper(t.depth)
	if err != nil {
		return err
	}
	n := m.g.node(r)
	n.size = t.size
	n.depth = max(n.depth, depth)
	if n.flags&flagStored != 0 {
		m.late = true
	}
	return nil
}

// extend appends items to a list.
func (m *machine) extend(r ref, items []ref) error {
	if err := m.changes(r, items); err != nil {
		return err
	}
	n := m.g.node(r)
	at, err := m.grown(n.a, int(n.n), len(items))
	if err != nil {
		return err
	}
	n.a = at
	m.g.elems.copyIn(n.a+n.n, items)
	n.n += uint32(len(items))
	return m.bounded(r, n)
}

// bounded checks that a deque has no more elements than its maxlen; Python would drop the
// first ones.
func (m *machine) bounded(r ref, n *node) error {
	if n.flags&flagClass == 0 {
		return nil
	}
	if most, ok := m.g.int64(m.g.attrs[uint32(r)].extra); ok && int64(n.n) > most {
		return wire.ErrRange.WithRule("pickle.deque").Errorf("a deque of at most %d elements gets %d", most, n.n)
	}
	return nil
}

func (m *machine) opAppend() error {
	if err := m.have(2); err != nil {
		return err
	}
	at := len(m.stack) - 1
	items := m.stack[at:]
	m.stack = m.stack[:at]
	// Fast path: nearly always it is a list with room.
	if list := m.top(); list < inline {
		n := m.g.node(list)
		if n.kind == KindList && n.flags&flagClass == 0 && n.n > 4 && n.n&(n.n-1) != 0 {
			if err := m.changes(list, items); err != nil {
				return err
			}
			*m.g.elems.at(n.a + n.n) = items[0]
			n.n++
			return nil
		}
	}
	return m.append(items)
}

// itemsOf takes the values above the mark, and checks that there is a value below it to
// receive them.
func (m *machine) itemsOf() ([]ref, error) {
	items, err := m.popMark()
	if err != nil {
		return nil, err
	}
	return items, m.have(1)
}

func (m *machine) opAppends() error {
	items, err := m.itemsOf()
	if err != nil {
		return err
	}
	return m.append(items)
}

// append appends items to the top value.
func (m *machine) append(items []ref) error {
	target := m.top()
	switch m.g.kind(target) {
	case KindList:
		if m.g.id(target) != NoID {
			m.against("append", "APPEND to what is not a list", refAbsent)
		}
		return m.extend(target, items)
	case KindObject:
		if done, err := m.changeClass(target, items, false); done || err != nil {
			return err
		}
		return m.change(target, items, "it is appended to: only lists and deques are")
	default:
		return m.misfit(target, "is appended to")
	}
}

func (m *machine) opSetItem() error {
	if err := m.have(3); err != nil {
		return err
	}
	at := len(m.stack) - 2
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return m.assign(items)
}

func (m *machine) opSetItems() error {
	items, err := m.itemsOf()
	if err != nil {
		return err
	}
	return m.assign(items)
}

// assign sets entries of the top value.
func (m *machine) assign(items []ref) error {
	target := m.top()
	switch m.g.kind(target) {
	case KindDict:
		if m.g.id(target) == DefaultDict {
			m.against("setitem", "SETITEM of what is not a dict, OrderedDict or Counter", refAbsent)
		}
		return m.setItems(target, items)
	case KindObject, KindList:
		if done, err := m.changeClass(target, items, true); done || err != nil {
			return err
		}
		return m.change(target, items, "an item of it is set: only dicts have items")
	default:
		return m.misfit(target, "has an item set")
	}
}

func (m *machine) opAddItems() error {
	items, err := m.itemsOf()
	if err != nil {
		return err
	}
	target := m.top()
	switch {
	case m.g.kind(target) == KindSet && m.g.id(target) == NoID:
		return m.addItems(target, items)
	case m.g.kind(target) == KindObject:
		return m.change(target, items, "it is added to: only sets are")
	default:
		return m.misfit(target, "is added to")
	}
}

// misfit handles an instruction that no loader can execute on this value.
func (m *machine) misfit(target ref, does string) error {
	return wire.ErrSyntax.WithRule("pickle.misfit").Errorf("a value of kind %v %s", m.g.kind(target), does)
}
