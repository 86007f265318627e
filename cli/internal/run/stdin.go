package run

import (
	"context"
	"io"
	"os"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/spool"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Stdin returns standard input as a source. A regular file is read in place, from its current
// offset; a pipe is spooled to a temporary file without a name.
func (s *Run) Stdin(ctx context.Context) Source {
	src := Source{Path: "-"}
	if s.StdinTaken {
		src.Err = fault.Usage("standard input can be read only once")
		return src
	}
	s.StdinTaken = true
	r, size, closer, err := s.Input(ctx)
	if err != nil {
		src.Err = err
		return src
	}
	read := &counter{r: r}
	src.Open = func(b *limits.Budget) (tensor.Model, error) {
		m, err := parser.Decode(b, read, size)
		if err != nil {
			closer.Close()
			return nil, err
		}
		if p, ok := m.(tensor.Placer); ok {
			p.Place(nil, closer)
		}
		return m, nil
	}
	src.Read = func(tensor.Model) (int64, int64) { return read.n.Load(), size }
	return src
}

// A counter counts the bytes that are read.
type counter struct {
	r io.ReaderAt
	n atomic.Int64
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n.Add(int64(n))
	return n, err
}

// Input returns standard input for random access.
func (s *Run) Input(ctx context.Context) (io.ReaderAt, int64, io.Closer, error) {
	f, ok := s.In.(*os.File)
	if !ok {
		return s.spool(ctx)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, 0, nil, err
	case info.IsDir():
		return nil, 0, nil, wire.ErrUnsupported.Errorf("standard input is a folder")
	case term.Columns(f) > 0:
		return nil, 0, nil, fault.Usage("standard input is a terminal: pipe a file into it")
	case info.Mode().IsRegular():
		at, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, 0, nil, err
		}
		size := max(info.Size()-at, 0)
		return io.NewSectionReader(f, at, size), size, io.NopCloser(nil), nil
	default:
		return s.spool(ctx)
	}
}

// chunkLen is the size of one read from a pipe.
const chunkLen = 1 << 20

// spool copies a pipe to a temporary file that is unlinked at once, so that nothing is left
// behind however the program ends.
func (s *Run) spool(ctx context.Context) (io.ReaderAt, int64, io.Closer, error) {
	kept, err := spool.Create("")
	if err != nil {
		return nil, 0, nil, err
	}
	var n atomic.Int64
	done := s.Progress("reading standard input", func() (int64, int64) { return n.Load(), 0 })
	defer done()
	for chunk := range chunks(ctx, s.In) {
		if chunk.err == nil && n.Load()+int64(len(chunk.p)) > s.Policy.MaxSpool {
			chunk.err = &fault.SpoolFull{Limit: s.Policy.MaxSpool}
		}
		if chunk.err == nil {
			_, chunk.err = kept.Write(chunk.p)
		}
		if chunk.err != nil {
			kept.Close()
			return nil, 0, nil, chunk.err
		}
		n.Add(int64(len(chunk.p)))
	}
	return kept, n.Load(), kept, nil
}

type chunk struct {
	p   []byte
	err error
}

// chunks yields what it reads from r, until its end or the end of ctx. A read of a pipe to
// which nothing is written cannot be cancelled; its goroutine is abandoned.
func chunks(ctx context.Context, r io.Reader) func(func(chunk) bool) {
	return func(yield func(chunk) bool) {
		next, free := make(chan chunk), make(chan []byte, 2)
		stopped := make(chan struct{})
		defer close(stopped)
		defer close(free)
		free <- make([]byte, chunkLen)
		free <- make([]byte, chunkLen)
		go func() {
			defer close(next)
			for p := range free {
				n, err := r.Read(p)
				c := chunk{p[:n], err}
				if err == io.EOF {
					c.err = nil
				}
				select {
				case next <- c:
				case <-stopped:
					return
				}
				if err != nil {
					return
				}
			}
		}()
		for {
			select {
			case <-ctx.Done():
				yield(chunk{err: context.Cause(ctx)})
				return
			case c, ok := <-next:
				if !ok || !yield(c) || c.err != nil {
					return
				}
				free <- c.p[:cap(c.p)]
			}
		}
	}
}
