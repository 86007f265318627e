package convert

import (
	"errors"
	"io"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// straight is a model whose tensors are read row-major and little-endian, however they
// are stored. Weights that are encoded are read through it.
type straight struct {
	tensor.Model
	b *limits.Budget

	mu   sync.Mutex
	free [][]byte // buffers of DefaultTile bytes, one for each concurrent reader
}

// RowMajor returns a model whose tensors are read in row-major, little-endian order,
// however they are stored. Each reader holds at most [DefaultTile] bytes; tensor.Model.At
// is false for a view that would have to be held in memory.
func RowMajor(b *limits.Budget, m tensor.Model) tensor.Model { return &straight{Model: m, b: b} }

func (m *straight) plain(i *tensor.Info) bool { return i.Strides == nil && swapSize(i) == 0 }

// At is also false for a view that must be held in memory.
func (m *straight) At(i tensor.Info) (io.ReaderAt, bool) {
	r, direct := m.Model.At(i)
	if !direct || m.plain(&i) {
		return r, direct
	}
	s := &straightReader{m: m, r: r, swap: swapSize(&i)}
	if i.Strides != nil {
		v, hold, err := newView(&i)
		if hold || err != nil {
			return nil, false
		}
		s.view = &v
	}
	return s, true
}

// Body holds the storage of a view in memory while it is read: one matrix of a stack at a
// time, and only strips of a very large matrix.
func (m *straight) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
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
func (m *straight) scattered(i *tensor.Info) bool {
	if i.Strides == nil {
		return false
	}
	v, hold, err := newView(i)
	return err != nil || hold || v.strip >= 0
}

// room returns a buffer for a reader.
func (m *straight) room() ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free); n > 0 {
		p := m.free[n-1]
		m.free = m.free[:n-1]
		return p, nil
	}
	return limits.Make[byte](m.b, DefaultTile)
}

func (m *straight) back(p []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free = append(m.free, p)
}

// A straightReader reads a tensor that is stored in another order. Offsets and lengths
// are those of whole elements.
type straightReader struct {
	m    *straight
	r    io.ReaderAt
	view *view
	swap int64
}

// ReadAt implements [io.ReaderAt].
func (s *straightReader) ReadAt(p []byte, off int64) (int, error) {
	if s.view == nil {
		n, err := s.r.ReadAt(p, off)
		swapBytes(p[:n], s.swap)
		return n, err
	}
	lent, err := s.m.room()
	if err != nil {
		return 0, err
	}
	defer s.m.back(lent)
	room := func(_, n int64) ([]byte, error) {
		if n > int64(len(lent)) {
			return nil, wire.ErrInternal.Errorf("a view needs %d bytes at once", n)
		}
		return lent[:n], nil
	}
	elem := s.view.elem
	for done := int64(0); done < int64(len(p)); {
		n := min(int64(len(p))-done, s.view.piece())
		if err := s.view.read(s.m.b, s.r, room, p[done:done+n], (off+done)/elem, (off+done+n)/elem); err != nil {
			return int(done), err
		}
		done += n
	}
	swapBytes(p, s.swap)
	return len(p), nil
}
