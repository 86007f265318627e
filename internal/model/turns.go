package model

import (
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Turns interleaves tensors of one type and size: run elements of the first, run elements of the
// second, and so on.
type Turns struct {
	info  tensor.Info
	rooms *Rooms[byte]
	parts []Source
	run   int64
}

// NewTurns interleaves tensors into one of a name and a shape. rooms lends the memory for reads.
func NewTurns(info tensor.Info, rooms *Rooms[byte], run int64, parts ...Source) *Turns {
	return &Turns{info, rooms, parts, run}
}

// Info implements [Source], as do At, Body and Costly.
func (t *Turns) Info() *tensor.Info { return &t.info }

// At reads at any offset, if all parts can be.
func (t *Turns) At() (io.ReaderAt, bool) {
	r := &turnsReader{Turns: t}
	for _, p := range t.parts {
		of, ok := p.At()
		if !ok {
			return nil, false
		}
		r.of = append(r.of, of)
	}
	return r, true
}

// Costly reports whether some part is.
func (t *Turns) Costly() bool { return anyCostly(t.parts) }

type turnsReader struct {
	*Turns
	of []io.ReaderAt
}

// ReadAt implements [io.ReaderAt]: it reads the elements of each part, and copies them to
// their places in p.
func (t *turnsReader) ReadAt(p []byte, off int64) (int, error) {
	elem, n, run := elemOf(t.info.DType), int64(len(t.of)), t.run
	if off%elem != 0 || int64(len(p))%elem != 0 {
		return 0, errSplit
	}
	room, err := t.rooms.Take()
	if err != nil {
		return 0, err
	}
	defer t.rooms.Back(room)
	if whole := int64(len(room)) / elem / run * run; whole > 0 {
		room = room[:whole*elem]
	}
	first := off / elem
	end := first + int64(len(p))/elem
	for k := range n {
		// The elements of this part in [first, end).
		from, to := ofPart(first, k, n, run), ofPart(end, k, n, run)
		for from < to {
			some := min(to-from, int64(len(room))/elem)
			if err := wire.ReadFull(t.of[k], room[:some*elem], from*elem); err != nil {
				return 0, err
			}
			for i := int64(0); i < some; {
				at := from + i
				in := min(run-at%run, some-i)
				place := (at/run*n+k)*run + at%run - first
				copy(p[place*elem:(place+in)*elem], room[i*elem:(i+in)*elem])
				i += in
			}
			from += some
		}
	}
	return len(p), nil
}

// ofPart returns how many of the first elements belong to part k.
func ofPart(elements, k, n, run int64) int64 {
	whole, rest := elements/(n*run), elements%(n*run)
	return whole*run + min(max(rest-k*run, 0), run)
}

// Body reads parts at offsets if it can, or else all of them in order at once. For each, a
// matrix may be held in memory.
func (t *Turns) Body(b *limits.Budget) (io.ReadCloser, error) {
	if _, ok := t.At(); ok {
		return ranges(t)
	}
	run := t.run * elemOf(t.info.DType)
	size := max(1, Tile/run) * run
	if size > 1<<30 {
		return nil, wire.ErrUnsupported.Errorf("turns of %d bytes", run)
	}
	in := &turnsBody{b: b, run: int(run), left: t.info.Bytes()}
	for _, p := range t.parts {
		body, err := p.Body(b)
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		in.bodies = append(in.bodies, body)
	}
	var err error
	if in.one, err = limits.Make[byte](b, int(size)); err == nil {
		in.room, err = limits.Make[byte](b, len(in.bodies)*int(size))
	}
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// A turnsBody reads parts that can only be read in order.
type turnsBody struct {
	b      *limits.Budget
	bodies []io.ReadCloser
	run    int    // bytes
	left   int64  // bytes of the tensor that were not read from the parts
	one    []byte // buffer for one part
	room   []byte // buffer for all parts
	ready  []byte // the unread part of room
}

// Read reads whole elements.
func (t *turnsBody) Read(p []byte) (int, error) {
	if len(t.ready) == 0 {
		if t.left == 0 {
			return 0, io.EOF
		}
		one := t.one[:min(int64(len(t.one)), t.left/int64(len(t.bodies)))]
		for k, body := range t.bodies {
			if _, err := io.ReadFull(body, one); err != nil {
				return 0, err
			}
			for i := 0; i < len(one); i += t.run {
				copy(t.room[i*len(t.bodies)+k*t.run:], one[i:i+t.run])
			}
		}
		t.ready = t.room[:len(one)*len(t.bodies)]
		t.left -= int64(len(t.ready))
	}
	n := copy(p, t.ready)
	t.ready = t.ready[n:]
	return n, nil
}

// Close closes all parts.
func (t *turnsBody) Close() error {
	var err error
	for _, body := range t.bodies {
		err = errors.Join(err, body.Close())
	}
	t.b.Drop(int64(cap(t.one) + cap(t.room)))
	t.bodies, t.one, t.room = nil, nil, nil
	return err
}
