package convert

import (
	"errors"
	"io"
	"os"
)

// beginning is how many of the first bytes of a file are written last. In it, safetensors has
// the length of its header, GGUF and archives have their magic.
const beginning = 8

// A lateBegin writes a file whose first bytes are zeros until all others are on the disk. No
// format begins with zeros, so that what an interrupted job leaves is never taken for a model,
// whoever copies it. Only the parts of a format lie there, which one goroutine writes.
type lateBegin struct {
	io.WriterAt
	first [beginning]byte
	n     int // how many of them the file has
}

// WriteAt implements io.WriterAt.
func (l *lateBegin) WriteAt(p []byte, off int64) (int, error) {
	if off >= beginning {
		return l.WriterAt.WriteAt(p, off)
	}
	var zeros [beginning]byte
	n := copy(l.first[off:], p)
	l.n = max(l.n, int(off)+n)
	if m, err := l.WriterAt.WriteAt(zeros[:n], off); err != nil || n == len(p) {
		return m, err
	}
	m, err := l.WriterAt.WriteAt(p[n:], beginning)
	return n + m, err
}

// begin writes the first bytes.
func (l *lateBegin) begin() error { return writeFull(l.WriterAt, l.first[:l.n], 0) }

// weightFiles are the weights of a folder while they are written.
type weightFiles struct {
	open    []*os.File // as many as there are shards
	late    []*lateBegin
	writers []io.WriterAt // the same
}

func (w *weightFiles) add(f *os.File) {
	l := &lateBegin{WriterAt: f}
	w.open, w.late, w.writers = append(w.open, f), append(w.late, l), append(w.writers, l)
}

// begin writes the first bytes of all.
func (w *weightFiles) begin(p *Plan) error {
	for i, l := range w.late {
		if err := errors.Join(p.b.Step(1), l.begin()); err != nil {
			return err
		}
		if err := p.sync(w.open[i].Sync); err != nil {
			return err
		}
	}
	return nil
}

func (w *weightFiles) close() (err error) {
	for _, f := range w.open {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}
	w.open = nil
	return err
}
