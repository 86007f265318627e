package convert

import (
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/tiles"
)

// A viewTask writes a view that is not row-major. Its units are elements. The storage of a
// view that has to be held is read at once, whole.
type viewTask struct {
	copyTask
	model.Strided
	held  bool
	bytes []byte
}

func newViewTask(c copyTask, direct bool) (task, error) {
	v, hold, err := model.NewStrided(&c.info)
	return &viewTask{copyTask: c, Strided: v, held: hold || !direct}, err
}

func (t *viewTask) units() int64 { return t.info.Elements() }

func (t *viewTask) whole() int64 {
	if !t.held {
		return 0
	}
	return t.info.Span.Len + tiles.Slack
}

func (t *viewTask) cut(lo, tile int64) int64 { return t.Cut(lo, tile, t.held) }

func (t *viewTask) open(s *stream, memory []byte) error {
	t.r, _ = t.m.At(t.info)
	if !t.held {
		return nil
	}
	t.bytes = tiles.Shift(memory, t.info.Span.Off, int(t.info.Span.Len))
	return readWhole(s, t.m, &part{info: t.info, r: t.r, bytes: t.bytes})
}

func (t *viewTask) close() { t.r, t.bytes = nil, nil }

func (t *viewTask) run(w *worker, lo, hi int64) error {
	dst, err := w.output(&w.s.p.Outs[t.out], lo*t.Elem(), (hi-lo)*t.Elem())
	if err != nil {
		return err
	}
	if t.held {
		t.Gather(dst, t.bytes, 0, lo, hi)
	} else {
		room := func(off, n int64) ([]byte, error) { return w.in.at(w.s, off, n) }
		err = t.Read(w.s.b, t.r, room, dst, lo, hi)
	}
	if err != nil {
		return err
	}
	model.Swap(dst, t.swap)
	return w.write(t.out, lo*t.Elem(), dst)
}
