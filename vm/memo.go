package vm

import (
	"math/bits"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A memo maps indexes up to 2^32-1, which the pickle chooses, to values. Picklers count
// from 0, so most indexes are in a slice. An index that would leave most of the slice
// empty is in a hash table.
type memo struct {
	dense  []ref
	sparse []uint64 // 0, or index and value of an entry
	spread uint64   // a random odd number
	far    int      // number of entries in sparse
	count  int      // number of all entries
}

// denseSlack is by how much the slice may exceed twice the count.
const denseSlack = 256

func (o *memo) get(i uint32) ref {
	if uint64(i) < uint64(len(o.dense)) && o.dense[i] != refAbsent {
		return o.dense[i]
	}
	if o.far == 0 {
		return refAbsent
	}
	return ref(o.sparse[o.slot(i)])
}

// slot returns the position of an index, or the free position where it belongs.
func (o *memo) slot(i uint32) uint64 {
	mask := uint64(len(o.sparse) - 1)
	at := (uint64(i) + 1) * o.spread >> 32 & mask
	for o.sparse[at] != 0 && uint32(o.sparse[at]>>32) != i {
		at = (at + 1) & mask
	}
	return at
}

// put stores a value, and reports whether the index is new.
func (o *memo) put(w *limits.Workspace, i uint32, r ref) (added bool, err error) {
	if uint64(i) < uint64(len(o.dense)) && o.dense[i] != refAbsent {
		o.dense[i] = r
		return false, nil
	}
	if o.far > 0 {
		if at := o.slot(i); o.sparse[at] != 0 {
			o.sparse[at] = uint64(i)<<32 | uint64(r)
			return false, nil
		}
	}
	if uint64(i) < uint64(2*o.count+denseSlack) {
		err = o.near(w, i, r)
	} else {
		err = o.away(w, i, r)
	}
	if err != nil {
		return false, err
	}
	o.count++
	return true, nil
}

func (o *memo) near(w *limits.Workspace, i uint32, r ref) error {
	if n := int(i) + 1; n > len(o.dense) {
		if n > cap(o.dense) {
			grown, err := limits.Grow(w, o.dense, max(n, denseSlack)-len(o.dense))
			if err != nil {
				return err
			}
			o.dense = grown
		}
		o.dense = o.dense[:n]
	}
	o.dense[i] = r
	return nil
}

func (o *memo) away(w *limits.Workspace, i uint32, r ref) error {
	if 4*(o.far+1) > 3*len(o.sparse) {
		slots, err := limits.Make[uint64](w, max(16, 2*len(o.sparse)))
		if err != nil {
			return err
		}
		old := o.sparse
		o.sparse = slots
		for _, s := range old {
			if s != 0 {
				slots[o.slot(uint32(s>>32))] = s
			}
		}
		w.Drop(8 * int64(len(old)))
	}
	o.sparse[o.slot(i)] = uint64(i)<<32 | uint64(r)
	o.far++
	return nil
}

// get pushes the memo's value at an index.
func (m *machine) get(i uint32) error {
	r := refAbsent
	if uint64(i) < uint64(len(m.memo.dense)) {
		r = m.memo.dense[i]
	}
	if r == refAbsent {
		r = m.memo.get(i)
	}
	if r == refAbsent {
		return wire.ErrMissing.WithRule("pickle.memo-missing").Errorf("the memo has no entry %d", i)
	}
	return m.replay(r)
}

// put stores the top value.
func (m *machine) put(i uint32) error {
	if err := m.have(1); err != nil {
		return err
	}
	// Fast path: picklers count up.
	if o := &m.memo; uint64(i) == uint64(len(o.dense)) && len(o.dense) < cap(o.dense) && len(o.dense) <= 2*o.count && o.far == 0 {
		o.dense = append(o.dense, m.top())
		o.count++
		return nil
	}
	if uint64(i) > uint64(m.pos) {
		if err := m.strict(errMemoRange, "an index of the memo that is larger than the pickle so far: pickle makes a table as long", refAbsent); err != nil {
			return err
		}
	}
	added, err := m.memo.put(&m.tmp, i, m.top())
	if err == nil && added && m.memo.far > 0 {
		err = m.count()
	}
	return err
}

// replay pushes a value again. That costs one word here, but a walk of the result visits
// everything below it again.
func (m *machine) replay(r ref) error {
	if err := m.replays(r); err != nil {
		return err
	}
	return m.push(r)
}

// freeReplays is how many values may be visited again before they are compared with the
// size of the pickle: small files may share much.
const freeReplays = 1 << 20

// replays adds up what replays cost a walk. Above [freeReplays] the sum is limited to
// MaxExpandRatio values per byte of the pickle.
func (m *machine) replays(r ref) error {
	if r >= inline {
		return nil
	}
	size := uint64(m.g.node(r).size)
	if size <= 1 {
		return nil
	}
	if m.replayed += size; m.replayed <= freeReplays {
		return nil
	}
	allowed := m.b.Policy().Limit(limits.ExpandRatio)
	if hi, most := bits.Mul64(uint64(allowed), uint64(m.pos)); hi != 0 || m.replayed <= most {
		return nil
	}
	return &limits.Error{Axis: limits.ExpandRatio, Want: int64(m.replayed/uint64(m.pos)) + 1, Left: allowed}
}

func (m *machine) opGet() error {
	i, err := m.index()
	if err != nil {
		return err
	}
	return m.get(i)
}

func (m *machine) opBinGet() error {
	i, err := m.u8()
	if err != nil {
		return err
	}
	return m.get(uint32(i))
}

func (m *machine) opLongBinGet() error {
	i, err := m.u32()
	if err != nil {
		return err
	}
	return m.get(i)
}

func (m *machine) opPut() error {
	i, err := m.index()
	if err != nil {
		return err
	}
	return m.put(i)
}

func (m *machine) opBinPut() error {
	i, err := m.u8()
	if err != nil {
		return err
	}
	return m.put(uint32(i))
}

func (m *machine) opLongBinPut() error {
	i, err := m.u32()
	if err != nil {
		return err
	}
	return m.put(i)
}

// opMemoize stores at the number of entries, as CPython does: after a PUT out
// of order that may overwrite one.
func (m *machine) opMemoize() error { return m.put(uint32(m.memo.count)) }
