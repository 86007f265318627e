package imatrix

import (
	"errors"
	"io"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The older format of an importance matrix: a count of entries, each with a name, a
// number of calls and the sums of its columns; then optionally the number of chunks and
// the name of the data set. All numbers are little-endian.

// readLegacy reads the number of entries that the file states. Each takes bytes, so the loop ends.
func (m *matrix) readLegacy(b *limits.Budget, src io.ReaderAt, size int64) error {
	c := wire.NewCursor(b, importance, src, size)
	n, err := c.U32()
	if err != nil {
		return err
	}
	const leastEntry = 4 + 4 + 4 + 4
	if n < 1 || int64(n) > size/leastEntry {
		return c.FailAt("", 0, wire.ErrRange.Errorf("%d entries in %d bytes: it is not an importance matrix", int32(n), size))
	}
	for range n {
		if err := errors.Join(b.Step(1), b.Items(1)); err != nil {
			return err
		}
		name, list, err := legacyEntry(b, &c)
		if err != nil {
			return err
		}
		if err := m.add(b, name, list); err != nil {
			return c.Fail("", err)
		}
	}
	return m.legacyEnd(&c)
}

// legacyEnd reads the optional part after the entries.
func (m *matrix) legacyEnd(c *wire.Cursor) error {
	if c.Left() == 0 {
		return nil
	}
	n, err := c.U32()
	if err != nil {
		return err
	}
	m.Chunks = int64(min(n, math.MaxInt32))
	if c.Left() == 0 {
		return nil
	}
	if m.Dataset, err = legacyText(c); err != nil {
		return err
	}
	if c.Left() > 0 {
		return c.Fail("", wire.ErrTrailing.Errorf("%d bytes", c.Left()))
	}
	return nil
}

// legacyText reads a length and that many bytes.
func legacyText(c *wire.Cursor) (string, error) {
	n, err := c.U32()
	if err != nil {
		return "", err
	}
	return c.String(uint64(n))
}

// legacyEntry reads one weight: sums divided by calls.
func legacyEntry(b *limits.Budget, c *wire.Cursor) (name string, list []float32, err error) {
	if name, err = legacyText(c); err != nil {
		return "", nil, err
	}
	calls, err := c.U32()
	if err != nil {
		return "", nil, err
	}
	if int32(calls) < 0 {
		return "", nil, c.Fail("", wire.ErrRange.Errorf("%s was called %d times", wire.Quote(name), int32(calls)))
	}
	n, err := c.U32()
	if err != nil {
		return "", nil, err
	}
	if n < 1 || n > math.MaxInt32 {
		return "", nil, c.Fail("", wire.ErrRange.Errorf("%s has %d columns", wire.Quote(name), int32(n)))
	}
	raw, err := c.Bytes(4 * uint64(n))
	if err != nil {
		return "", nil, err
	}
	if list, err = floatsIn(b, raw, tensor.Little); err != nil {
		return "", nil, err
	}
	for i := range list {
		if int32(calls) > 0 {
			list[i] /= float32(int32(calls))
		}
	}
	return name, list, nil
}
