package model

import (
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Straight is a model whose tensors are read row-major and little-endian, however they
// are stored. Each reader holds at most [Tile] bytes.
type Straight struct {
	tensor.Model
	b     *limits.Budget
	rooms *Rooms[byte]
	view  *Model // the model, if it is made of others
}

// NewStraight reads the tensors of a model row-major and little-endian.
func NewStraight(b *limits.Budget, m tensor.Model) *Straight {
	return &Straight{m, b, NewRooms[byte](b, Tile), Of(m)}
}

func (m *Straight) plain(i *tensor.Info) bool { return i.Strides == nil && Swapped(i) == 0 }

// At is also false for a view that must be held in memory.
func (m *Straight) At(i tensor.Info) (io.ReaderAt, bool) {
	r, direct := m.Model.At(i)
	if !direct || m.plain(&i) {
		return r, direct
	}
	s := &straightReader{m: m, r: r, swap: Swapped(&i)}
	if i.Strides != nil {
		v, hold, err := NewStrided(&i)
		if hold || err != nil {
			return nil, false
		}
		s.view = &v
	}
	return s, true
}

// Body holds the storage of a view in memory while it is read: one matrix of a stack at a
// time, and only strips of a very large matrix.
func (m *Straight) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	if body, ok, err := m.stripped(b, &i); ok {
		return body, err
	}
	body, err := m.Model.Body(b, i)
	if err != nil || m.plain(&i) {
		return body, err
	}
	held, err := newHeld(b, body, &i)
	if err != nil {
		return nil, errors.Join(err, body.Close())
	}
	return held, nil
}

// scattered reports whether a view is faster to read in order, or can only be read so.
func scattered(i *tensor.Info) bool {
	if i.Strides == nil {
		return false
	}
	v, hold, err := NewStrided(i)
	return err != nil || hold || v.strip >= 0
}

// A straightReader reads a tensor that is stored in another order. Offsets and lengths
// are those of whole elements.
type straightReader struct {
	m    *Straight
	r    io.ReaderAt
	view *Strided
	swap int64
}

// ReadAt implements [io.ReaderAt].
func (s *straightReader) ReadAt(p []byte, off int64) (int, error) {
	if s.view == nil {
		n, err := s.r.ReadAt(p, off)
		Swap(p[:n], s.swap)
		return n, err
	}
	lent, err := s.m.rooms.Take()
	if err != nil {
		return 0, err
	}
	defer s.m.rooms.Back(lent)
	room := func(_, n int64) ([]byte, error) {
		if n > int64(len(lent)) {
			return nil, wire.ErrInternal.Errorf("a view needs %d bytes at once", n)
		}
		return lent[:n], nil
	}
	elem := s.view.elem
	for done := int64(0); done < int64(len(p)); {
		n := min(int64(len(p))-done, s.view.piece())
		if err := s.view.Read(s.m.b, s.r, room, p[done:done+n], (off+done)/elem, (off+done+n)/elem); err != nil {
			return int(done), err
		}
		done += n
	}
	Swap(p, s.swap)
	return len(p), nil
}

// Rooms lends the memory of its readers to others.
func (m *Straight) Rooms() *Rooms[byte] { return m.rooms }

// Source is one tensor, row-major and little-endian.
func (m *Straight) Source(i *tensor.Info) Source { return &straightSource{m, i} }

// A straightSource is a tensor in another order of elements or bytes than that of its
// storage.
type straightSource struct {
	m  *Straight
	of *tensor.Info
}

// Info implements [Source].
func (s *straightSource) Info() *tensor.Info { return s.of }

// At is false for what is read faster in order.
func (s *straightSource) At() (io.ReaderAt, bool) {
	r, ok := s.m.At(*s.of)
	return r, ok && !scattered(s.of)
}

// Body reads in order.
func (s *straightSource) Body(b *limits.Budget) (io.ReadCloser, error) { return s.m.Body(b, *s.of) }

// Costly reports whether it is decoded.
func (s *straightSource) Costly() bool {
	t := s.m.view.Tensor(s.of.Name)
	return t != nil && t.Source.Costly()
}
