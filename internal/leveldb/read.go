package leveldb

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Magic is how a table ends.
const Magic = "\x57\xfb\x80\x8b\x24\x75\x47\xdb"

const (
	// footerLen is the length of the footer: two handles, padding, and the magic bytes.
	footerLen = 48
	// trailerLen is the length of what follows a block: how it is compressed, and its checksum.
	trailerLen = 5
	// stepBytes are the bytes of a block that take the time of a step.
	stepBytes = 64
)

// Causes are what a format says of a table that it refuses.
type Causes struct {
	Magic    *wire.Cause // no footer
	Layout   *wire.Cause // blocks that do not follow each other
	Checksum *wire.Cause
	Packing  *wire.Cause // compressed otherwise than by Snappy
	Packed   *wire.Cause // compressed bytes that Snappy does not write
	Entry    *wire.Cause // an entry that does not fit its block
	Order    *wire.Cause // keys that do not ascend
	Restart  *wire.Cause // restarts that are not those of the entries
	Filter   *wire.Cause // a filter, or statistics
}

// A Row gets a key and its value. The key is valid until it returns.
type Row func(key []byte, value wire.Cursor) error

// A reader reads one table.
type reader struct {
	b      *limits.Budget
	steps  limits.Steps
	format string
	r      io.ReaderAt
	causes *Causes
	row    Row
	last   []byte // the last separator of the index
}

// Is reports whether a file ends like a table.
func Is(r io.ReaderAt, size int64) bool {
	var end [len(Magic)]byte
	return size >= footerLen && wire.ReadFull(r, end[:], size-int64(len(end))) == nil && string(end[:]) == Magic
}

// Read gives each entry of a table to row, in the order of the keys.
func Read(b *limits.Budget, format string, r io.ReaderAt, size int64, causes *Causes, row Row) error {
	t := &reader{b: b, steps: b.Steps(), format: format, r: r, causes: causes, row: row}
	meta, index, err := t.footer(size)
	if err != nil {
		return err
	}
	stats, err := t.load(meta)
	if err != nil {
		return err
	}
	defer stats.close()
	if len(stats.entries) > 0 {
		return t.fail(meta.off, causes.Filter.Errorf("a block of %d bytes beside keys and values", len(stats.entries)))
	}
	list, err := t.load(index)
	if err != nil {
		return err
	}
	defer list.close()
	next := int64(0)
	err = list.each(func(key []byte, value wire.Cursor) error {
		at := value.Off()
		h, err := t.handle(&value)
		if err == nil && (value.Left() > 0 || h.off != next || h.size > meta.off-trailerLen-next) {
			err = value.FailAt("index", at, causes.Layout.Errorf("a block of %d bytes at %#x, and %#x is next", h.size, uint64(h.off), next))
		}
		if err != nil {
			return list.moved(err)
		}
		next = h.end()
		return t.block(h, key)
	})
	if err == nil && next != meta.off {
		err = t.fail(next, causes.Layout.Errorf("%d bytes belong to no block", meta.off-next))
	}
	return err
}

// A handle is the place of a block, without what follows it.
type handle struct{ off, size int64 }

func (h handle) end() int64 { return h.off + h.size + trailerLen }

// footer finds the two blocks that are not of data, which lie before it.
func (t *reader) footer(size int64) (meta, index handle, err error) {
	if size < footerLen {
		return meta, index, t.fail(size, wire.ErrTruncated.Errorf("%d bytes are too few for a table", size))
	}
	at := size - footerLen
	c := wire.NewCursor(t.b, t.format, t.r, size)
	if err := c.MoveTo(at); err != nil {
		return meta, index, err
	}
	p, err := c.View(footerLen)
	if err != nil {
		return meta, index, err
	}
	if string(p[footerLen-len(Magic):]) != Magic {
		return meta, index, t.fail(size-int64(len(Magic)), t.causes.Magic.Errorf("it does not end like a table of LevelDB"))
	}
	in, err := c.Sub(footerLen - uint64(len(Magic)))
	if err != nil {
		return meta, index, err
	}
	if meta, err = t.handle(&in); err == nil {
		index, err = t.handle(&in)
	}
	if err != nil {
		return meta, index, err
	}
	padding, err := in.View(int(in.Left()))
	switch {
	case err != nil:
		return meta, index, err
	case wire.NonZero(padding) >= 0:
		return meta, index, in.Fail("footer", t.causes.Layout.Errorf("bytes that are not zero after the places of two blocks"))
	case index.off > at-trailerLen || index.size != at-trailerLen-index.off:
		return meta, index, t.fail(at, t.causes.Layout.Errorf("an index of %d bytes at %#x, which does not end here", index.size, uint64(index.off)))
	case meta.off > index.off-trailerLen || meta.size != index.off-trailerLen-meta.off:
		return meta, index, t.fail(at, t.causes.Layout.Errorf("a block of %d bytes at %#x, which does not end at the index", meta.size, uint64(meta.off)))
	}
	return meta, index, nil
}

// handle reads the place of a block.
func (t *reader) handle(c *wire.Cursor) (h handle, err error) {
	at := c.Off()
	for _, to := range []*int64{&h.off, &h.size} {
		p, err := c.View(int(min(c.Left(), binary.MaxVarintLen64)))
		if err != nil {
			return h, err
		}
		v, n := varint(p)
		if n == 0 || v > wire.MaxSize {
			return h, c.FailAt("", at, t.causes.Layout.Errorf("no place of a block"))
		}
		*to = int64(v)
		if err := c.Skip(uint64(n)); err != nil {
			return h, err
		}
	}
	return h, nil
}

// varint reads a number in no more bytes than it takes; n is zero if there is none.
func varint(p []byte) (v uint64, n int) {
	v, n = binary.Uvarint(p)
	if n <= 0 || n > 1 && p[n-1] == 0 {
		return 0, 0
	}
	return v, n
}

// block reads the entries of a block of data, whose last key is at most its separator.
func (t *reader) block(h handle, separator []byte) error {
	bl, err := t.load(h)
	if err != nil {
		return err
	}
	defer bl.close()
	if len(bl.entries) == 0 {
		return t.fail(h.off, t.causes.Layout.Errorf("a block without entries"))
	}
	first := true
	err = bl.each(func(key []byte, value wire.Cursor) error {
		before := first && h.off > 0 && bytes.Compare(key, t.last) <= 0
		if first = false; before || bytes.Compare(key, separator) > 0 {
			return bl.moved(value.Fail("key "+quoted(key), t.causes.Order.Errorf("the index has it in another block")))
		}
		return bl.moved(t.row(key, value))
	})
	if err != nil {
		return err
	}
	if t.last, err = limits.Grow(t.b, t.last[:0], len(separator)); err != nil {
		return t.fail(h.off, err)
	}
	t.last = append(t.last, separator...)
	return nil
}

func (t *reader) fail(off int64, cause error) error { return wire.At(t.format, "", off, cause) }
