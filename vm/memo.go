package vm

import (
	"math/bits"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A memo maps the indexes that a pickle chooses, up to 2^32-1, to values.
// Picklers number from 0 on, so most indexes are in a slice; one that would
// leave the slice half empty is in a map.
type memo struct {
	dense  []ref
	sparse map[uint32]ref
	count  int
}

const (
	// denseSlack is how far the slice may run ahead of twice the count.
	denseSlack = 256
	// sparseCost is what one entry of a Go map of this kind costs at most,
	// half-filled tables included (measured: 20 to 45 bytes).
	sparseCost = 48
)

func (o *memo) get(i uint32) ref {
	if uint64(i) < uint64(len(o.dense)) && o.dense[i] != refAbsent {
		return o.dense[i]
	}
	if o.sparse == nil {
		return refAbsent
	}
	return o.sparse[i]
}

func (o *memo) put(w *limits.Workspace, i uint32, r ref) error {
	if uint64(i) < uint64(len(o.dense)) && o.dense[i] != refAbsent {
		o.dense[i] = r
		return nil
	}
	if _, has := o.sparse[i]; has {
		o.sparse[i] = r
		return nil
	}
	if uint64(i) < uint64(2*o.count+denseSlack) {
		if err := o.widen(w, int(i)+1); err != nil {
			return err
		}
		o.dense[i] = r
		o.count++
		return nil
	}
	if err := w.Take(sparseCost); err != nil {
		return err
	}
	if o.sparse == nil {
		o.sparse = map[uint32]ref{}
	}
	o.sparse[i] = r
	o.count++
	return nil
}

// widen makes the slice at least n long.
func (o *memo) widen(w *limits.Workspace, n int) error {
	if n <= len(o.dense) {
		return nil
	}
	grown, err := limits.GrowWork(w, o.dense, n-len(o.dense))
	if err != nil {
		return err
	}
	o.dense = grown[:n]
	return nil
}

// get pushes what the memo holds at an index.
func (m *machine) get(i uint32) error {
	r := m.memo.get(i)
	if r == refAbsent {
		return wire.ErrMissing.With("the memo has nothing at %d", i)
	}
	return m.replay(r)
}

// put stores the value on top.
func (m *machine) put(i uint32) error {
	if err := m.have(1); err != nil {
		return err
	}
	return m.memo.put(&m.tmp, i, m.top())
}

// replay pushes a value once more. That costs one word here, but whoever walks
// the result meets all that hangs on it once more.
func (m *machine) replay(r ref) error {
	if err := m.replays(r); err != nil {
		return err
	}
	return m.push(r)
}

// freeReplays is how many values may be met once more before anyone asks how
// many that are for a byte of the pickle: small files that share much are honest.
const freeReplays = 1 << 20

// replays adds up what replays would cost a walk. Past [freeReplays] the sum
// follows the size of the pickle, by MaxExpandRatio values a byte.
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
