// Package sparse holds texts of which some parts are not read before they are needed.
package sparse

import (
	"slices"
	"sync"
	"unsafe"
)

// A Text is the beginning of a file. Bytes that were left out have no memory yet where the
// system gives memory at the first write.
type Text struct {
	p    []byte
	have int // bytes that are read or left out

	mu    sync.Mutex
	holes []Hole
	err   error
}

// A Hole is a part that was left out.
type Hole struct{ From, To int }

// Room returns how many bytes there is memory for.
func (t *Text) Room() int { return len(t.p) }

// Len returns how many bytes are read or left out.
func (t *Text) Len() int { return t.have }

// Move puts the text into other memory, which is larger. Strings of the old one stay valid.
func (t *Text) Move(p []byte) {
	copy(p, t.p[:t.have])
	t.p = p
}

// Read reads bytes from the end of what there is up to to.
func (t *Text) Read(to int, read func(p []byte, off int) error) error {
	if to <= t.have {
		return nil
	}
	if err := read(t.p[t.have:to:to], t.have); err != nil {
		return err
	}
	t.have = to
	return nil
}

// Skip leaves out the bytes from the end of what there is up to to.
func (t *Text) Skip(to int) {
	if to <= t.have {
		return
	}
	t.mu.Lock()
	t.holes = append(t.holes, Hole{t.have, to})
	t.mu.Unlock()
	t.have = to
}

// String returns the text. Its bytes that are left out are undefined until Fill has read them;
// others never change.
func (t *Text) String() string { return unsafe.String(unsafe.SliceData(t.p), t.have) }

// Fill reads the holes that lie between two places. An error is kept: see Err.
func (t *Text) Fill(from, to int, read func(p []byte, off int) error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, _ := slices.BinarySearchFunc(t.holes, from, func(h Hole, from int) int { return h.To - from })
	end := at
	for ; end < len(t.holes) && t.holes[end].From < to; end++ {
		h := t.holes[end]
		if err := read(t.p[h.From:h.To:h.To], h.From); err != nil && t.err == nil {
			t.err = err
		}
	}
	t.holes = slices.Delete(t.holes, at, end)
}

// Holes returns the parts that are still left out, in their order.
func (t *Text) Holes() []Hole {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.holes)
}

// Err returns the first error of Fill.
func (t *Text) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
