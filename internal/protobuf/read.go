package protobuf

import (
	"cmp"
	"math/bits"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Causes are what a format says of an encoding that it refuses.
type Causes struct {
	Unknown *wire.Cause // a field that its message does not have
	Twice   *wire.Cause // a field that is not repeated appears twice
	Type    *wire.Cause // a field in another encoding
	Varint  *wire.Cause // a number of more than 64 bits
}

// A Reader reads messages of one file.
type Reader struct {
	b      *limits.Budget
	steps  limits.Steps
	causes Causes
	source string // whose fields these are: "ONNX 1.23"
}

// NewReader returns a reader that charges b. source is whose messages these are, for errors.
func NewReader(b *limits.Budget, source string, causes Causes) *Reader {
	return &Reader{b: b, steps: b.Steps(), causes: causes, source: source}
}

// Wire types of protobuf.
const (
	wireNumber = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

// Message reads the fields of a message to its end; h may be nil. It returns which fields
// with numbers below 64 there were, as bits.
func (r *Reader) Message(c *wire.Cursor, m *Message, h Hook) (seen uint64, err error) {
	if err := r.b.Enter(); err != nil {
		return 0, c.Fail(m.Name, err)
	}
	defer r.b.Leave()
	at := c.Off()
	for c.Left() > 0 {
		if err := r.steps.Step(); err != nil {
			return 0, c.Fail(m.Name, err)
		}
		from := c.Off()
		tag, err := r.tag(c)
		if err != nil {
			return 0, err
		}
		f, ok := m.Fields[tag>>3]
		if !ok {
			return 0, c.FailAt(m.Name, from, r.causes.Unknown.Errorf("field %d does not exist in %s", tag>>3, r.source))
		}
		bit := uint64(1) << (tag >> 3)
		if !f.Repeated && seen&bit != 0 {
			return 0, c.FailAt(m.Name, from, r.causes.Twice.Errorf("field %d appears twice", tag>>3))
		}
		seen |= bit
		if err := r.field(c, m, f, tag, h); err != nil {
			return 0, err
		}
	}
	if h == nil {
		return seen, nil
	}
	return seen, h.End(c, at)
}

// field reads one field after its tag.
func (r *Reader) field(c *wire.Cursor, m *Message, f Field, tag uint64, h Hook) error {
	id, typ := tag>>3, tag&7
	want := [...]uint64{Number: wireNumber, Fixed32: wire32, Fixed64: wire64, Text: wireBytes, Sub: wireBytes}[f.Kind]
	packed := typ == wireBytes && f.Repeated && f.Kind < Text
	if typ != want && !packed {
		return c.Fail(m.Name, r.causes.Type.Errorf("field %d has the wire type %d", id, typ))
	}
	if typ != wireBytes {
		v, err := r.scalar(c, f.Kind)
		if err == nil && h != nil {
			err = h.Number(id, v)
		}
		return err
	}
	n, err := r.length(c)
	if err != nil {
		return err
	}
	switch {
	case packed:
		return r.packed(c, f.Kind, id, n, h)
	case f.Kind == Sub:
		return r.sub(c, f, id, n, h)
	case h == nil:
		return c.Skip(n)
	case n > cmp.Or(m.MaxText, maxText) || f.Place:
		in, err := c.Sub(n)
		if err != nil {
			return err
		}
		return h.Bytes(id, in)
	}
	s, err := c.String(n)
	if err == nil {
		err = h.Text(id, s)
		r.b.Drop(int64(len(s))) // what is kept is charged where it is kept
	}
	return err
}

// sub reads a message in a message.
func (r *Reader) sub(c *wire.Cursor, f Field, id, n uint64, h Hook) error {
	in, err := c.Sub(n)
	if err != nil {
		return err
	}
	var below Hook
	if f.Of.Make != nil {
		below = f.Of.Make()
	}
	if _, err := r.Message(&in, f.Of, below); err != nil {
		return err
	}
	if h == nil || below == nil {
		return nil
	}
	return h.Message(id, below)
}

// packed reads a packed list of numbers.
func (r *Reader) packed(c *wire.Cursor, k Kind, id, n uint64, h Hook) error {
	in, err := c.Sub(n)
	if err != nil {
		return err
	}
	if width := [...]int64{Fixed32: 4, Fixed64: 8}[k]; width > 0 {
		if in.Left()%width != 0 {
			return in.Fail("", r.causes.Type.Errorf("%d bytes of packed numbers of %d bytes each", in.Left(), width))
		}
		if h == nil {
			return nil
		}
		return h.Bytes(id, in)
	}
	for in.Left() > 0 {
		if err := r.steps.Step(); err != nil {
			return in.Fail("", err)
		}
		v, err := r.varint(&in)
		if err == nil && h != nil {
			err = h.Number(id, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) scalar(c *wire.Cursor, k Kind) (uint64, error) {
	switch k {
	case Fixed32:
		v, err := c.U32()
		return uint64(v), err
	case Fixed64:
		return c.U64()
	}
	return r.varint(c)
}

// tag reads a field's number and wire type. Readers disagree about a tag in more bytes than it
// takes: upb reads the field up to five bytes, protobuf in Python compares the bytes and skips the
// field as one that it does not know.
func (r *Reader) tag(c *wire.Cursor) (uint64, error) {
	at := c.Off()
	v, err := r.varint(c)
	if n := c.Off() - at; err == nil && n > max(1, int64(bits.Len64(v)+6)/7) {
		err = c.FailAt("", at, r.causes.Varint.Errorf("a tag in %d bytes, which is more than it takes", n))
	}
	return v, err
}

// length reads the size of what follows, in at most five bytes: upb takes no more.
func (r *Reader) length(c *wire.Cursor) (uint64, error) {
	at := c.Off()
	v, err := r.varint(c)
	if n := c.Off() - at; err == nil && n > maxLength {
		err = c.FailAt("", at, r.causes.Varint.Errorf("a length in %d bytes, which are at most %d", n, maxLength))
	}
	return v, err
}

// varint reads a number of at most 64 bits, in at most ten bytes.
func (r *Reader) varint(c *wire.Cursor) (v uint64, err error) {
	at := c.Off()
	for shift := uint(0); ; shift += 7 {
		x, err := c.U8()
		if err != nil {
			return 0, err
		}
		if shift == 63 && x > 1 {
			return 0, c.FailAt("", at, r.causes.Varint.Errorf("a number of more than 64 bits"))
		}
		v |= uint64(x&0x7f) << shift
		if x < 0x80 {
			return v, nil
		}
	}
}
