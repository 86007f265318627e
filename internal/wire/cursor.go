package wire

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	// Chunk is the window of a cursor: sequential parsing costs one read per
	// Chunk bytes.
	Chunk = 64 << 10
	// firstChunk is the first window: most headers are small, and a small file
	// must not cost a large buffer.
	firstChunk = 4 << 10
)

// A Cursor reads forward through [Off, End) of a file. Copies made by [Cursor.Sub]
// share one window and one account; use one at a time.
//
// Each method either advances and succeeds or leaves the cursor where it was.
// A read past End is [ErrTruncated] for a cursor over the whole file, and
// [ErrRange] for a child, whose length the file itself stated.
type Cursor struct {
	src   *source
	off   int64
	end   int64
	child bool
	Order binary.ByteOrder
}

type source struct {
	r      io.ReaderAt
	b      *limits.Budget
	format string
	end    int64
	base   int64  // file offset of window[0]
	window []byte // bytes of the file that are in memory
	buf    []byte
}

// NewCursor reads r, which holds size bytes, as the named format.
func NewCursor(b *limits.Budget, format string, r io.ReaderAt, size int64) Cursor {
	size = max(size, 0)
	return Cursor{src: &source{r: r, b: b, format: format, end: size}, end: size, Order: binary.LittleEndian}
}

// Off is the offset of the next byte in the file.
func (c *Cursor) Off() int64 { return c.off }

// Left is the number of bytes before the cursor's end.
func (c *Cursor) Left() int64 { return c.end - c.off }

// MoveTo goes to an offset at or before the end.
func (c *Cursor) MoveTo(off int64) error {
	if off < 0 || off > c.end {
		return c.Fail("", c.beyond().Errorf("offset %#x wanted, the end is %#x", uint64(off), c.end))
	}
	c.off = off
	return nil
}

// Sub returns a child over the next n bytes and moves past them.
func (c *Cursor) Sub(n uint64) (Cursor, error) {
	if n > uint64(c.Left()) {
		return Cursor{}, c.short(int64(n))
	}
	child := *c
	child.end = c.off + int64(n)
	child.child = true
	c.off = child.end
	return child, nil
}

// Skip moves n bytes on.
func (c *Cursor) Skip(n uint64) error {
	if n > uint64(c.Left()) {
		return c.short(int64(n))
	}
	c.off += int64(n)
	return nil
}

// View returns the next n bytes, n <= [Chunk], without moving and without a
// copy: they are valid until the next call.
func (c *Cursor) View(n int) ([]byte, error) {
	s := c.src
	if at := c.off - s.base; at >= 0 && int64(n) <= int64(len(s.window))-at && int64(n) <= c.end-c.off {
		return s.window[at : at+int64(n)], nil
	}
	return c.fill(n)
}

// Window returns the bytes at the cursor that are in memory, at least n of
// them, n <= [Chunk], without moving: what a loop over many small records reads
// before one [Cursor.Skip]. They are valid until the next call.
func (c *Cursor) Window(n int) ([]byte, error) {
	if _, err := c.View(n); err != nil {
		return nil, err
	}
	s := c.src
	w := s.window[c.off-s.base:]
	return w[:min(int64(len(w)), c.Left())], nil
}

func (c *Cursor) fill(n int) ([]byte, error) {
	if int64(n) > c.Left() {
		return nil, c.short(int64(n))
	}
	if err := c.src.load(c.off, n); err != nil {
		return nil, c.Fail("", err)
	}
	return c.src.window[:n], nil
}

// load makes the window start at off and hold at least n bytes. An error of the bytes that it reads
// ahead is ignored: they are read again when they are needed.
func (s *source) load(off int64, n int) error {
	want := Chunk
	if s.buf == nil && n <= firstChunk {
		want = firstChunk
	}
	want = int(min(int64(max(want, n)), s.end-off))
	if cap(s.buf) < want {
		buf, err := limits.Make[byte](s.b, want)
		if err != nil {
			return err
		}
		s.buf = buf
	}
	s.window = s.buf[:0]
	got, err := readAhead(s.r, s.buf[:want], off)
	if got < n {
		return err
	}
	s.base, s.window = off, s.buf[:got]
	return nil
}

// ReadFull fills p from off. An end before p is full is [ErrTruncated]; any
// other error is the reader's own.
func ReadFull(r io.ReaderAt, p []byte, off int64) error {
	_, err := readAhead(r, p, off)
	return err
}

// readAhead fills p from off as far as the reader gives bytes; err is nil when
// p is full.
func readAhead(r io.ReaderAt, p []byte, off int64) (got int, err error) {
	for idle := 0; got < len(p); {
		n, err := r.ReadAt(p[got:], off+int64(got))
		if n < 0 || n > len(p)-got {
			return got, ErrInternal.Errorf("reader returned %d for a read of %d", n, len(p)-got)
		}
		got += n
		switch {
		case got == len(p):
			return got, nil
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return got, ErrTruncated.Errorf("%d bytes missing at %#x", len(p)-got, off+int64(got))
		case err != nil:
			return got, err
		case n > 0:
			idle = 0
		default:
			if idle++; idle == 100 {
				return got, io.ErrNoProgress
			}
		}
	}
	return got, nil
}

// U8 reads one byte.
func (c *Cursor) U8() (uint8, error) {
	p, err := c.View(1)
	if err != nil {
		return 0, err
	}
	c.off++
	return p[0], nil
}

// U16 reads two bytes in the cursor's order.
func (c *Cursor) U16() (uint16, error) {
	p, err := c.View(2)
	if err != nil {
		return 0, err
	}
	c.off += 2
	return c.Order.Uint16(p), nil
}

// U32 reads four bytes in the cursor's order.
func (c *Cursor) U32() (uint32, error) {
	p, err := c.View(4)
	if err != nil {
		return 0, err
	}
	c.off += 4
	return c.Order.Uint32(p), nil
}

// U64 reads eight bytes in the cursor's order.
func (c *Cursor) U64() (uint64, error) {
	p, err := c.View(8)
	if err != nil {
		return 0, err
	}
	c.off += 8
	return c.Order.Uint64(p), nil
}

// Bytes reads n bytes into a buffer of their own, charged before it is made.
func (c *Cursor) Bytes(n uint64) ([]byte, error) {
	if n > uint64(c.Left()) {
		return nil, c.short(int64(n))
	}
	size, ok := Int(n, MaxSize)
	if !ok {
		// A 32-bit machine has no such buffer, whatever the policy allows.
		left := min(c.src.b.Policy().Limit(limits.SingleAlloc), int64(^uint(0)>>1))
		return nil, c.Fail("", &limits.Error{Axis: limits.SingleAlloc, Want: int64(n), Left: left})
	}
	p, err := limits.Make[byte](c.src.b, size)
	if err != nil {
		return nil, c.Fail("", err)
	}
	if size <= Chunk {
		view, err := c.View(size)
		if err != nil {
			return nil, err
		}
		copy(p, view)
	} else if err := ReadFull(c.src.r, p, c.off); err != nil {
		return nil, c.Fail("", err)
	}
	c.off += int64(size)
	return p, nil
}

// String reads n bytes as text of their own; whether it is valid UTF-8 is the
// caller's rule.
func (c *Cursor) String(n uint64) (string, error) {
	if n > Chunk {
		at := c.off
		p, err := c.Bytes(n)
		if err != nil {
			return "", err
		}
		s, err := limits.String(c.src.b, p)
		if err != nil {
			c.off = at
			return "", c.Fail("", err)
		}
		return s, nil
	}
	view, err := c.View(int(n))
	if err != nil {
		return "", err
	}
	s, err := limits.String(c.src.b, view)
	if err != nil {
		return "", c.Fail("", err)
	}
	c.off += int64(n)
	return s, nil
}

// Fail places a cause at the cursor's offset.
func (c *Cursor) Fail(where string, cause error) error { return c.FailAt(where, c.off, cause) }

// FailAt places a cause at an offset.
func (c *Cursor) FailAt(where string, off int64, cause error) error {
	return At(c.src.format, where, off, cause)
}

func (c *Cursor) short(n int64) error {
	return c.Fail("", c.beyond().Errorf("%d bytes wanted, %d left", uint64(n), c.Left()))
}

// beyond is the cause of a read past the end.
func (c *Cursor) beyond() *Cause {
	if c.child {
		return ErrRange.WithRule("file.part-end")
	}
	return ErrTruncated
}
