package model

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Heads is a tensor with the rows of each head in another order: those of its two halves
// by turns, 0, n/2, 1, n/2+1 and so on; or, backwards, the inverse.
type Heads struct {
	of    Source
	rooms *Rooms[byte]
	head  int64 // rows of a head
	back  bool
}

// NewHeads reorders the rows of a tensor. rooms has the memory for those of a head, where
// they are read at once.
func NewHeads(of Source, rooms *Rooms[byte], head int64, back bool) *Heads {
	return &Heads{of, rooms, head, back}
}

// Info implements [Source], as do At, Body and Costly.
func (h *Heads) Info() *tensor.Info { return h.of.Info() }

// At reads at any offset.
func (h *Heads) At() (io.ReaderAt, bool) {
	r, ok := h.of.At()
	if !ok {
		return nil, false
	}
	i := h.Info()
	row := i.Bytes() / max(1, i.Shape[0])
	return &headsReader{h, r, row, h.of.Costly()}, true
}

// Body is refused where the tensor can only be read in order.
func (h *Heads) Body(*limits.Budget) (io.ReadCloser, error) { return ranges(h) }

// Costly is that of the tensor.
func (h *Heads) Costly() bool { return h.of.Costly() }

type headsReader struct {
	*Heads
	r      io.ReaderAt
	row    int64 // bytes
	costly bool  // all rows of a head are read at once, if there is room
}

// ReadAt implements [io.ReaderAt].
func (g *headsReader) ReadAt(p []byte, off int64) (int, error) {
	var whole []byte
	if g.costly {
		var err error
		if whole, err = g.rooms.Take(); err != nil {
			return 0, err
		}
		defer g.rooms.Back(whole)
	}
	done, head := 0, g.head*g.row
	for done < len(p) {
		within := off % head
		n := min(int64(len(p)-done), head-within)
		var err error
		if int64(len(whole)) >= head || g.row < shortRead && head <= Tile {
			err = g.small(p[done:done+int(n)], whole, off-within, within)
		} else {
			err = g.large(p[done:done+int(n)], off-within, within)
		}
		if err != nil {
			return done, err
		}
		done, off = done+int(n), off+n
	}
	return done, nil
}

// source returns which row of its head becomes row at.
func (g *headsReader) source(at int64) int64 {
	half := g.head / 2
	if g.back {
		return at%half*2 + at/half
	}
	return at%2*half + at/2
}

// large reads row by row.
func (g *headsReader) large(p []byte, base, within int64) error {
	for len(p) > 0 {
		at, in := within/g.row, within%g.row
		n := min(int64(len(p)), g.row-in)
		if err := wire.ReadFull(g.r, p[:n], base+g.source(at)*g.row+in); err != nil {
			return err
		}
		p, within = p[n:], within+n
	}
	return nil
}

// small reads pieces of a head that hold several rows.
func (g *headsReader) small(p, whole []byte, base, within int64) error {
	var own [16 << 10]byte
	buf := own[:]
	if len(whole) > 0 {
		buf = whole
	}
	row := g.row
	per := min(max(1, int64(len(buf))/row), g.head)
	half := g.head / 2
	for lo := int64(0); lo < g.head; lo += per {
		hi := min(lo+per, g.head)
		raw := buf[:(hi-lo)*row]
		if err := wire.ReadFull(g.r, raw, base+lo*row); err != nil {
			return err
		}
		for s := lo; s < hi; s++ {
			to := s%half*2 + s/half // the place of this row of the source
			if g.back {
				to = s%2*half + s/2
			}
			// The part of the row that was asked for.
			from, end := max(to*row, within), min(to*row+row, within+int64(len(p)))
			if from < end {
				copy(p[from-within:end-within], raw[(s-lo)*row+from-to*row:])
			}
		}
	}
	return nil
}
