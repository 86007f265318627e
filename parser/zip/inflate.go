package zip

import (
	"bufio"
	"errors"
	"hash/crc32"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/klauspost/compress/flate"
)

const (
	// inputBuf is how much compressed data is read at a time.
	inputBuf = 16 << 10
	// inflaterSize is what one inflater holds at most: its input buffer, 32 KiB of
	// history, and tables of up to 26 KiB.
	inflaterSize = inputBuf + 64<<10
)

// At returns random access to a stored member's data; ok is false for a deflated one.
// Checksums are not verified.
func (a *Archive) At(i int) (io.ReaderAt, bool) {
	m := &a.Members[i]
	if m.Method != Store {
		return nil, false
	}
	return io.NewSectionReader(a.r, m.DataOff, m.Size), true
}

// Open reads the data of member i in order: exactly Size bytes, the last of them only
// once length and CRC are verified. Close releases what the reader holds.
func (a *Archive) Open(b *limits.Budget, i int) (io.ReadCloser, error) {
	s := &stream{a: a, b: b}
	if err := s.open(i); err != nil {
		return nil, err
	}
	return s, nil
}

// Verify reads every member: CRC, real lengths, and that a deflate stream ends
// where its member does.
func (a *Archive) Verify(b *limits.Budget) error {
	const size = 64 << 10
	release, err := b.Lease(size)
	defer release()
	if err != nil {
		return wire.At(a.format, "", wire.NoOffset, err)
	}
	buf := make([]byte, size)
	s := &stream{a: a, b: b}
	defer s.Close()
	for i := range a.Members {
		if err := s.open(i); err != nil {
			return err
		}
		for err = nil; err == nil; {
			_, err = s.Read(buf)
		}
		if err != io.EOF {
			return err
		}
	}
	return nil
}

// A Peeker reads the beginnings of members, one after another, with the same buffers. It
// is not safe for concurrent use.
type Peeker struct{ s stream }

// Peeker returns a Peeker that charges b until it is closed.
func (a *Archive) Peeker(b *limits.Budget) *Peeker { return &Peeker{stream{a: a, b: b, peek: true}} }

// Open returns a reader of member i, valid until the next call. It need not be read to
// the end, and does not verify the member.
func (p *Peeker) Open(i int) (io.Reader, error) {
	if err := p.s.open(i); err != nil {
		return nil, err
	}
	return &p.s, nil
}

// Close releases the buffers.
func (p *Peeker) Close() error { return p.s.Close() }

// A stream reads one member in order.
type stream struct {
	a    *Archive
	b    *limits.Budget
	i    int
	m    *Member
	crc  uint32
	left int64 // inflated bytes that remain
	err  error // sticky
	peek bool  // skip the checks at the end
	in   input
	z    *inflater
}

// open starts reading member i.
func (s *stream) open(i int) error {
	m := &s.a.Members[i]
	s.i, s.m, s.crc, s.left, s.err = i, m, 0, m.Size, nil
	s.in = input{r: s.a.r, b: s.b, off: m.DataOff, end: m.DataOff + m.Comp, deflated: m.Method != Store, paid: s.b.Compressed()}
	if m.Method == Store {
		return nil
	}
	if s.z == nil {
		release, err := s.b.Lease(inflaterSize)
		if err != nil {
			return s.fail(m.DataOff, err)
		}
		s.z = &inflater{buf: bufio.NewReaderSize(nil, inputBuf), release: release}
	}
	return s.z.reset(&s.in)
}

func (s *stream) Read(p []byte) (int, error) {
	if s.err != nil || len(p) == 0 {
		return 0, s.err
	}
	n := 0
	if s.left > 0 {
		p = p[:min(int64(len(p)), s.left)]
		n, s.err = s.fill(p)
		s.crc = crc32.Update(s.crc, crc32.IEEETable, p[:n])
		s.left -= int64(n)
	}
	if s.err == nil && s.left == 0 {
		if s.err = s.finish(); s.err != io.EOF {
			n = 0
		}
	}
	if n > 0 {
		return n, nil
	}
	return 0, s.err
}

// fill reads at least one byte of the member, or returns an error.
func (s *stream) fill(p []byte) (int, error) {
	if s.m.Method == Store {
		n, err := s.in.Read(p)
		if err != nil {
			return n, s.fail(s.in.off, err)
		}
		return n, nil
	}
	n, err := s.z.read(p)
	if paid := s.in.paid.Made(int64(n)); paid != nil {
		return 0, s.fail(s.place(), paid)
	}
	if err == io.EOF && n > 0 {
		err = nil // returned again by the next call, or replaced by finish
	} else if err == io.EOF {
		err = wire.ErrMismatch.WithRule("zip.inflated-size").Errorf("stream ends %d bytes before the declared size", s.left)
	}
	if err != nil {
		return n, s.fail(s.place(), err)
	}
	return n, nil
}

// finish verifies the member once all bytes have been read. It returns io.EOF if it is
// valid.
func (s *stream) finish() error {
	if s.peek {
		return io.EOF
	}
	if s.m.Method == Deflate {
		var more [1]byte
		n, err := s.z.read(more[:])
		switch {
		case n > 0:
			return s.fail(s.place(), wire.ErrMismatch.WithRule("zip.inflated-size").Errorf("more bytes than the declared size %d", s.m.Size))
		case err != io.EOF:
			return s.fail(s.place(), err)
		}
		if rest := s.m.DataOff + s.m.Comp - s.place(); rest > 0 {
			return s.fail(s.place(), wire.ErrTrailing.WithRule("zip.deflate-rest").Errorf("%d bytes after the end of the deflate stream", rest))
		}
	}
	if s.crc != s.m.CRC {
		return s.fail(s.m.DataOff, wire.ErrChecksum.WithRule("zip.crc").Errorf("CRC is %08x, the directory states %08x", s.crc, s.m.CRC))
	}
	return io.EOF
}

// place returns the offset of the next compressed byte.
func (s *stream) place() int64 { return s.in.off - int64(s.z.buf.Buffered()) }

func (s *stream) fail(off int64, cause error) error {
	return wire.At(s.a.format, Where(s.i, s.m.Name), off, cause)
}

func (s *stream) Close() error {
	if s.z != nil {
		s.z.release()
		s.z = nil
	}
	s.err = io.ErrClosedPipe
	return nil
}

// An input reads the compressed bytes of one member.
type input struct {
	r        io.ReaderAt
	b        *limits.Budget
	off, end int64

	deflated bool
	paid     limits.Compressed
}

func (in *input) Read(p []byte) (int, error) {
	p = p[:min(int64(len(p)), in.end-in.off)]
	if len(p) == 0 {
		return 0, io.EOF
	}
	if in.deflated {
		if err := in.paid.Read(int64(len(p))); err != nil {
			return 0, err
		}
	} else if err := in.b.Err(); err != nil {
		return 0, err
	}
	if err := wire.ReadFull(in.r, p, in.off); err != nil {
		return 0, err
	}
	in.off += int64(len(p))
	return len(p), nil
}

// An inflater is a reusable deflate decoder.
type inflater struct {
	buf     *bufio.Reader
	z       io.ReadCloser
	release func()
}

func (z *inflater) reset(in *input) error {
	z.buf.Reset(in)
	if z.z == nil {
		z.z = flate.NewReader(z.buf)
		return nil
	}
	return z.z.(flate.Resetter).Reset(z.buf, nil)
}

// read returns inflated bytes, or an error about the stream.
func (z *inflater) read(p []byte) (int, error) {
	for range 100 {
		n, err := z.z.Read(p)
		if n > 0 && err != io.EOF {
			err = nil // flate returns its error again on the next call
		}
		if n > 0 || err != nil {
			return n, explain(err)
		}
	}
	return 0, io.ErrNoProgress
}

func explain(err error) error {
	if _, bad := errors.AsType[flate.CorruptInputError](err); bad {
		return wire.ErrSyntax.WithRule("zip.deflate-corrupt").Errorf("deflate stream is corrupt")
	}
	if err == io.ErrUnexpectedEOF {
		return wire.ErrMismatch.WithRule("zip.deflate-beyond").Errorf("deflate stream continues past its member")
	}
	return err
}
