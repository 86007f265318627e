package model

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// mostHeld is the largest storage of a matrix that is held in memory to read its
// transpose in order. A larger one is read again for each strip of columns.
var mostHeld = int64(256 << 20)

// largeStrip is the size of such a strip.
const largeStrip = 32 << 20

// A stripBody reads a transposed view in order, one strip at a time.
type stripBody struct {
	b       *limits.Budget
	r       io.ReaderAt
	view    Strided
	swap    int64
	strip   []byte // of the view
	scratch []byte // of the storage
	ready   []byte // the unread part of strip
	at, end int64  // elements
}

// stripped returns a body for a view whose storage is too large to hold; ok is false for
// other views, and for those that cannot be read at an offset.
func (m *Straight) stripped(b *limits.Budget, i *tensor.Info) (io.ReadCloser, bool, error) {
	if i.Strides == nil || slabOf(i) <= mostHeld {
		return nil, false, nil
	}
	r, direct := m.Model.At(*i)
	v, hold, err := NewStrided(i)
	if !direct || hold || err != nil || v.strip < 0 {
		return nil, false, nil
	}
	n := i.Shape[v.strip]
	v.across = min(n, max(v.across, largeStrip/v.elem/v.inner), Tile/v.elem)
	s := &stripBody{b: b, r: r, view: v, swap: Swapped(i), end: i.Elements()}
	if s.strip, err = limits.Make[byte](b, int(v.across*v.inner*v.elem)); err == nil {
		s.scratch, err = limits.Make[byte](b, Tile)
	}
	return s, true, err
}

// slabOf returns the size of the storage that is in memory at once when a view is held.
func slabOf(i *tensor.Info) int64 {
	g, _ := i.DType.Geometry()
	if apart(i) {
		return min(i.Span.Len, i.Strides[0]*int64(g.Bytes))
	}
	return i.Span.Len
}

// Read reads whole elements.
func (s *stripBody) Read(p []byte) (int, error) {
	if len(s.ready) == 0 {
		if s.at == s.end {
			return 0, io.EOF
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := min(len(p), len(s.ready))
	n -= n % int(s.view.elem)
	if n == 0 && len(p) > 0 {
		return 0, wire.ErrInternal.Errorf("a read splits an element")
	}
	copy(p[:n], s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

// fill reads the next strip, which stays within a matrix.
func (s *stripBody) fill() error {
	line := s.view.of.Shape[s.view.strip] * s.view.inner
	end := min(s.at+s.view.across*s.view.inner, (s.at/line+1)*line, s.end)
	room := func(_, n int64) ([]byte, error) {
		if n > int64(len(s.scratch)) {
			return nil, wire.ErrInternal.Errorf("a strip needs %d bytes at once", n)
		}
		return s.scratch[:n], nil
	}
	s.ready = s.strip[:(end-s.at)*s.view.elem]
	if err := s.view.readStrip(s.b, s.r, room, s.ready, s.at, end); err != nil {
		return err
	}
	Swap(s.ready, s.swap)
	s.at = end
	return nil
}

// Close frees the memory.
func (s *stripBody) Close() error {
	s.b.Drop(int64(cap(s.strip) + cap(s.scratch)))
	s.strip, s.scratch, s.ready = nil, nil, nil
	return nil
}
