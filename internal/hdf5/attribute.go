package hdf5

import (
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// attribute reads an attribute, of version 1, 2 or 3:
//
//	version, flags, u16 length of the name, of the type, of the shape, [character set], then these and the data
//
// In version 1 each is filled up to a multiple of 8 bytes.
func (f *file) attribute(m *wire.Cursor) error {
	const where = "attribute"
	at := m.Off()
	p, err := m.View(8)
	if err != nil {
		return err
	}
	version, flags := p[0], p[1]
	lengths := [3]uint64{uint64(m.Order.Uint16(p[2:])), uint64(m.Order.Uint16(p[4:])), uint64(m.Order.Uint16(p[6:]))}
	head := uint64(8)
	switch {
	case version == 3:
		head = 9
	case version < 1 || version > 3:
		return f.fail(where, at, errStructure.Errorf("version %d", version))
	}
	if version > 1 && flags != 0 {
		return f.fail(where, at, errFeature.Errorf("a type or a shape that stands elsewhere"))
	}
	if err := m.Skip(head); err != nil {
		return err
	}
	var parts [3]wire.Cursor
	for i, n := range lengths {
		if version == 1 {
			n = (n + 7) / 8 * 8
		}
		if parts[i], err = m.Sub(n); err != nil {
			return err
		}
	}
	name, err := parts[0].View(int(min(lengths[0], maxName)))
	if err != nil {
		return err
	}
	text := Text{Name: beforeNUL(name)}
	t, err := f.datatype(&parts[1])
	if err != nil {
		return err
	}
	s, err := f.dimensions(&parts[2])
	if err != nil {
		return err
	}
	if !s.scalar {
		return nil
	}
	return f.text(m, t, text)
}

// text gives the value of an attribute to the caller if it is a text.
func (f *file) text(m *wire.Cursor, t *datatype, text Text) error {
	switch t.class {
	case classText, classOpaque:
		text.Off = m.Off()
		if t.size > m.Left() {
			return f.fail("attribute", text.Off, errStructure.Errorf("a text of %d bytes, of which %d are there", t.size, m.Left()))
		}
		text.Bytes = io.NewSectionReader(f.r, text.Off, t.size)
	case classVariable:
		found, err := f.heaped(m, &text)
		if err != nil || !found {
			return err
		}
	default:
		return nil
	}
	return f.visit(text)
}

// maxName is how much is kept of the name of an attribute.
const maxName = 256

// heaped finds a text of variable length: u32 length, u64 collection, u32 number in it. It
// reports false for one that is empty.
func (f *file) heaped(m *wire.Cursor, text *Text) (bool, error) {
	p, err := m.View(16)
	if err != nil {
		return false, err
	}
	length, collection, number := uint64(m.Order.Uint32(p)), m.Order.Uint64(p[4:]), m.Order.Uint32(p[12:])
	if length == 0 {
		return false, nil
	}
	off, size, err := f.inCollection(collection, number)
	if err != nil {
		return false, err
	}
	if length != size {
		return false, f.fail(textWhere, off, errStructure.Errorf("a text of %d bytes, of which %d are stored", length, size))
	}
	text.Off, text.Bytes = off, io.NewSectionReader(f.r, off, int64(length))
	// Of a text that two attributes share, each may take another length.
	return true, f.claim(uint64(off))
}

const textWhere = "text of an attribute"

// inCollection finds a numbered part of a collection:
//
//	"GCOL", version 1, 3 zeros, u64 size, then for each: u16 number, u16 uses, u32 0, u64 size, the part
//
// A part is filled up to a multiple of 8 bytes. What has the number 0 is free, to the end.
func (f *file) inCollection(collection uint64, number uint32) (off int64, size uint64, err error) {
	const head, entry = 16, 16
	if err := f.at(textWhere, collection); err != nil {
		return 0, 0, err
	}
	if err := f.signature(textWhere, "GCOL", 1); err != nil {
		return 0, 0, err
	}
	if err := f.c.Skip(3); err != nil {
		return 0, 0, err
	}
	all, err := f.c.U64()
	if err != nil {
		return 0, 0, err
	}
	if all < head {
		return 0, 0, f.fail(textWhere, int64(collection), errStructure.Errorf("a heap of %d bytes", all))
	}
	c, err := f.c.Sub(all - head)
	if err != nil {
		return 0, 0, err
	}
	for c.Left() >= entry {
		if err := f.steps.Step(); err != nil {
			return 0, 0, f.fail(textWhere, c.Off(), err)
		}
		p, err := c.View(entry)
		if err != nil {
			return 0, 0, err
		}
		found, n := uint32(c.Order.Uint16(p)), c.Order.Uint64(p[8:])
		if found == 0 {
			break
		}
		if err := c.Skip(entry); err != nil {
			return 0, 0, err
		}
		switch {
		case n > uint64(c.Left()):
			return 0, 0, f.fail(textWhere, c.Off(), errStructure.Errorf("%d bytes in a heap with %d", n, c.Left()))
		case found == number:
			return c.Off(), n, nil
		}
		if err := c.Skip(min((n+7)/8*8, uint64(c.Left()))); err != nil {
			return 0, 0, err
		}
	}
	return 0, 0, f.fail(textWhere, int64(collection), errStructure.Errorf("the heap has no text %d", number))
}

// beforeNUL returns a text up to its first zero byte.
func beforeNUL(p []byte) string {
	text, _, _ := strings.Cut(string(p), "\x00")
	return text
}
