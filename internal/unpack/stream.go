package unpack

import (
	"bufio"
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
)

const (
	// inputLen is the buffer size for a compressed file.
	inputLen = 16 << 10
	// innerSteps is the charge for a stream inside a stream, because each read of the inner stream
	// inflates the outer one again. No tool compresses a file twice, so an archive of thousands of
	// those may be refused early.
	innerSteps = 64 << 10
	// streamSteps is the charge for opening a stream, whatever its size: buffers and tables take
	// some 50 microseconds.
	streamSteps = 512
	// memoryStep is the decoder memory that costs one step, about the time to clear it.
	memoryStep = 1 << 10
	// flateLen bounds the memory of one inflater: 32 KiB of history, and tables.
	flateLen = 64 << 10
)

// A source is the compressed file, from its beginning.
type source struct {
	*bufio.Reader

	from *io.SectionReader
	b    *limits.Budget
	paid *limits.Compressed        // nil for the beginning of a file
	edit func(p []byte, off int64) // changes what the decoder reads, or nil

	// failed is the error of the file; it takes precedence over errors of the decoder.
	failed error
}

// Read reads compressed bytes for the buffer of a source.
func (f *charged) Read(p []byte) (int, error) {
	off, _ := f.Seek(0, io.SeekCurrent)
	n, err := f.SectionReader.Read(p)
	if f.s.edit != nil {
		f.s.edit(p[:n], off)
	}
	if err != nil && err != io.EOF {
		f.s.failed = err
	}
	if paid := f.s.pay(n); paid != nil {
		return n, paid
	}
	if missing := f.Size() - off - int64(n); err == io.EOF && missing > 0 {
		// A decoder would take the end of the file for the end of the last stream.
		err = wire.ErrTruncated.Errorf("%d bytes missing at %#x", missing, off+int64(n))
	}
	return n, err
}

// A charged reads the file of a source and charges for it.
type charged struct {
	*io.SectionReader
	s *source
}

func (s *source) pay(n int) error {
	if s.paid == nil {
		return s.b.Err()
	}
	return s.paid.Read(int64(n))
}

func newSource(b *limits.Budget, from *io.SectionReader) *source {
	s := &source{from: from, b: b}
	s.Reader = bufio.NewReaderSize(&charged{from, s}, int(min(from.Size(), inputLen)))
	return s
}

// at returns the number of bytes consumed.
func (s *source) at() int64 {
	off, _ := s.from.Seek(0, io.SeekCurrent)
	return off - int64(s.Buffered())
}

// An opener creates a decoder and states its memory.
type opener struct {
	open   func(s *source) (io.Reader, error)
	memory int64
	exact  bool // the decoder stops at the end of its stream, which must be the end of the file
}

var (
	openGzip = opener{func(s *source) (io.Reader, error) { return gzips.lend(s) }, flateLen, false}
	openZlib = opener{func(s *source) (io.Reader, error) { return zlibs.lend(s) }, flateLen, true}
)

func walkStream(o opener) func(*walker) error {
	return func(w *walker) error { return w.stream(o) }
}

// stream visits the content of a compressed file.
func (w *walker) stream(o opener) error {
	if err := w.b.Hold(o.memory + inputLen); err != nil {
		return w.fail("", 0, err)
	}
	defer w.b.Drop(o.memory + inputLen)
	steps := streamSteps + o.memory/memoryStep
	if _, inner := w.r.(*replay); inner {
		steps += innerSteps
	}
	if err := w.b.Step(steps); err != nil {
		return w.fail("", 0, err)
	}
	var s *source
	var z io.Reader
	defer func() { giveBack(z) }()
	begin := func() (_ io.Reader, err error) {
		giveBack(z)
		from := io.NewSectionReader(w.r, 0, w.size)
		s = newSource(w.b, from)
		paid := w.b.Compressed()
		s.paid = &paid
		if z, err = o.open(s); err != nil {
			z = nil
			return nil, err
		}
		return &exactReader{z, s, w.size, o.exact}, nil
	}
	inflation, was := w.b.Inflation(), int64(0)
	meter := func(out int64) error {
		at := s.at()
		in := at - was
		was = at
		return inflation.Add(in, out)
	}
	off := func(err error) error {
		at := int64(wire.NoOffset)
		if s != nil {
			at = s.at()
		}
		return w.fail("", at, classify(err))
	}
	p, err := newReplay(w.b, begin, off, meter)
	if err != nil {
		return err
	}
	defer p.close()
	return w.visitItem(Item{Size: p.size, R: p})
}

// An exactReader refuses bytes after the end of its stream.
type exactReader struct {
	io.Reader

	s     *source
	size  int64
	exact bool
}

func (r *exactReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if paid := r.s.paid.Made(int64(n)); paid != nil {
		return 0, paid
	}
	if err == io.EOF && r.exact && r.s.at() != r.size {
		return n, wire.ErrTrailing.WithRule("stream.trailing").Errorf("%d bytes after the end of the stream", r.size-r.s.at())
	}
	return n, err
}

// classify gives an error of a decoder its class.
func classify(err error) error {
	if wire.ClassOf(err) != wire.Internal {
		return err
	}
	_, isFlate := errors.AsType[flate.CorruptInputError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
		return wire.ErrTruncated.Errorf("the stream has no end marker")
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, zlib.ErrChecksum):
		return wire.ErrChecksum.WithRule("stream.checksum").Errorf("the checksum of the stream does not match its data")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, zlib.ErrHeader):
		return wire.ErrSyntax.WithRule("stream.corrupt").Errorf("no stream header")
	case errors.Is(err, zlib.ErrDictionary):
		return wire.ErrUnsupported.WithRule("stream.dictionary").Errorf("the stream needs a preset dictionary, which is not in the file")
	case isFlate:
		return wire.ErrSyntax.WithRule("stream.corrupt").Errorf("deflate stream is corrupt")
	}
	return err
}
