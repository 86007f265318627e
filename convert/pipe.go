package convert

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Pipe writes a plan of one file to w from beginning to end, with one worker. Before it
// writes anything, it refuses a plan whose file cannot be written in order: a format with
// checksums before the tensors, or an encoding that makes several tensors at once. The
// output is complete only if there is no error.
func (p *Plan) Pipe(w io.Writer) (*Result, error) {
	if err := p.onePass(); err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	defer func(n int) { p.o.Threads = n }(p.o.Threads)
	p.o.Threads = 1
	s := &sequence{w: w}
	r, err := p.Stream(s)
	if err != nil {
		return nil, err
	}
	if err := s.pad(p.Files[0].Size); err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	return r, p.lastLook()
}

// onePass returns why the plan cannot be written from beginning to end, or nil.
func (p *Plan) onePass() error {
	if len(p.Files) != 1 {
		return wire.ErrUsage.Errorf("the plan has %d files and needs a folder", len(p.Files))
	}
	if p.tail() {
		return wire.ErrUsage.Errorf("%s stores checksums before the tensors, so it cannot be written in one pass", p.sink.Name())
	}
	at, led := int64(0), 0
	for _, t := range p.tasks {
		out, off := t.first()
		o := &p.Outs[out]
		if o.off+off < at {
			return wire.ErrUsage.Errorf("tensor %s cannot be written in one pass", wire.Quote(o.Name))
		}
		if at = o.off + off; off == 0 && o.Size > 0 {
			led++
		}
	}
	for i := range p.Outs {
		if p.Outs[i].Size > 0 {
			led--
		}
	}
	if led != 0 {
		return wire.ErrUsage.Errorf("several tensors are made from one, so it cannot be written in one pass")
	}
	return nil
}

// A sequence writes to a stream what comes in the order of the file.
type sequence struct {
	w    io.Writer
	next int64
}

// WriteAt implements io.WriterAt for writes that follow each other.
func (s *sequence) WriteAt(p []byte, off int64) (int, error) {
	if off < s.next {
		return 0, wire.ErrInternal.Errorf("byte %d is written after byte %d", off, s.next)
	}
	if err := s.pad(off); err != nil {
		return 0, err
	}
	n, err := s.w.Write(p)
	s.next += int64(n)
	return n, err
}

// pad writes the zeros before an offset.
func (s *sequence) pad(to int64) error {
	var zeros [4096]byte
	for s.next < to {
		n, err := s.w.Write(zeros[:min(to-s.next, int64(len(zeros)))])
		s.next += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}
