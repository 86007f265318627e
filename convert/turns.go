package convert

import (
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// turns reads the elements of parts that alternate in runs, and copies the numbers of
// each to their places in p.
func (m *made) turns(p []byte, first int64) (int, error) {
	elem, n, run := sizeOf(m.t.DType), int64(len(m.t.Parts)), m.t.Turns
	room, err := m.r.straight.Rooms().Take()
	if err != nil {
		return 0, err
	}
	defer m.r.straight.Rooms().Back(room)
	if whole := int64(len(room)) / elem / run * run; whole > 0 {
		room = room[:whole*elem]
	}
	end := first + int64(len(p))/elem
	for k := range n {
		// The elements of this part in [first, end).
		from, to := ofPart(first, k, n, run), ofPart(end, k, n, run)
		for from < to {
			some := min(to-from, int64(len(room))/elem)
			if err := m.part(&m.t.Parts[k], room[:some*elem], from); err != nil {
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

// inTurns reads alternating parts that can only be read in order.
type inTurns struct {
	b      *limits.Budget
	bodies []io.ReadCloser
	one    []byte // buffer for one part
	room   []byte // buffer for all parts
	ready  []byte // the unread part of room
}

func (m *madeBody) inTurns(p []byte) (int, error) {
	if m.all == nil {
		if err := m.open(); err != nil {
			return 0, err
		}
	}
	t := m.all
	if len(t.ready) == 0 {
		left := (infoOf(m.t).Span.Len - m.at) / int64(len(t.bodies))
		one := t.one[:min(int64(len(t.one)), left)]
		run := int(m.t.Turns * sizeOf(m.t.DType))
		for k, body := range t.bodies {
			if _, err := io.ReadFull(body, one); err != nil {
				return 0, err
			}
			for i := 0; i < len(one); i += run {
				copy(t.room[i*len(t.bodies)+k*run:], one[i:i+run])
			}
		}
		t.ready = t.room[:len(one)*len(t.bodies)]
	}
	n := copy(p, t.ready)
	t.ready = t.ready[n:]
	m.at += int64(n)
	return n, nil
}

// open opens all parts. For each, a matrix may be held in memory.
func (m *madeBody) open() (err error) {
	run := m.t.Turns * sizeOf(m.t.DType)
	size := max(1, DefaultTile/run) * run
	if size > 1<<30 {
		return wire.ErrUnsupported.Errorf("turns of %d bytes", run)
	}
	t := &inTurns{b: m.b}
	m.all = t
	for k := range m.t.Parts {
		body, err := m.inOrder(&m.t.Parts[k])
		if err != nil {
			return err
		}
		t.bodies = append(t.bodies, body)
	}
	n := int64(len(t.bodies))
	if t.one, err = limits.Make[byte](m.b, int(size)); err == nil {
		t.room, err = limits.Make[byte](m.b, int(n*size))
	}
	return err
}

// Close implements [io.Closer].
func (t *inTurns) Close() error {
	var err error
	for _, body := range t.bodies {
		err = errors.Join(err, body.Close())
	}
	t.b.Drop(int64(cap(t.one) + cap(t.room)))
	t.bodies, t.one, t.room = nil, nil, nil
	return err
}
