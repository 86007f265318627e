package hdf5

import (
	"encoding/binary"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Text is an attribute with one text as its value.
type Text struct {
	Of    string // the path of its object, "" for the root
	Name  string
	Off   int64
	Bytes *io.SectionReader
}

// A value is an attribute with one text or number.
type value struct {
	name string
	is   any
}

// attribute reads an attribute, of version 1, 2 or 3:
//
//	version, flags, u16 length of the name, of the type, of the shape, [character set], then these and the data
//
// In version 1 each is filled up to a multiple of 8 bytes.
func (d *decoder) attribute(o *object, m *wire.Cursor) error {
	const where = "attribute"
	at := m.Off()
	f := fields{c: m}
	version, flags := f.u8(), f.u8()
	lengths := [3]uint64{f.u(2), f.u(2), f.u(2)}
	switch {
	case f.err != nil:
		return f.err
	case version == 3:
		f.skip(1)
	case version < 1 || version > 3:
		return d.fail(where, at, errStructure.Errorf("version %d", version))
	}
	if version > 1 && flags != 0 {
		return d.fail(where, at, errFeature.Errorf("a type or a shape that is stored elsewhere"))
	}
	var parts [3]wire.Cursor
	for i, n := range lengths {
		if version == 1 {
			n = (n + 7) / 8 * 8
		}
		parts[i] = f.sub(n)
	}
	if f.err != nil {
		return f.err
	}
	name, err := d.attributeName(o, &parts[0], lengths[0])
	if err != nil {
		return err
	}
	t, err := d.datatype(&parts[1])
	if err != nil {
		return err
	}
	return d.attributeValue(o, m, t, &parts[2], name)
}

// attributeValue reads a shape, and keeps the value of an attribute that is one text or number.
func (d *decoder) attributeValue(o *object, m *wire.Cursor, t *datatype, shape *wire.Cursor, name string) error {
	s, err := d.dimensions(shape)
	if err != nil {
		return err
	}
	bytes, ok := wire.Mul(s.elements, t.size)
	switch {
	case !ok || bytes > uint64(m.Left()):
		return d.fail("attribute", m.Off(), errStructure.Errorf("a value of %d elements of %d bytes, of which %d bytes are there", s.elements, t.size, m.Left()))
	case len(s.dims) > 0 || s.null:
		return nil
	case t.text || t.class == classOpaque:
		return d.text(o, m, t, name)
	}
	return d.scalar(o, m, t, name)
}

// attributeName reads a name, which no other attribute of the object has.
func (d *decoder) attributeName(o *object, c *wire.Cursor, n uint64) (string, error) {
	const where = "attribute"
	if n > maxName || n > uint64(c.Left()) {
		return "", d.fail(where, c.Off(), errName.Errorf("a name of %d bytes", n))
	}
	p, err := c.View(int(n))
	if err != nil {
		return "", err
	}
	name, err := limits.String(d.b, []byte(beforeNUL(p)))
	if err != nil {
		return "", d.fail(where, c.Off(), err)
	}
	if err := d.b.Step(int64(len(o.names) / bytesOfStep)); err != nil {
		return "", d.fail(where, c.Off(), err)
	}
	if slices.Contains(o.names, name) {
		return "", d.fail(where, c.Off(), wire.ErrDuplicate.WithRule("hdf5.name-twice").Errorf("two attributes %s", wire.Quote(name)))
	}
	o.names, err = limits.Append(d.b, o.names, name)
	return name, d.fail(where, c.Off(), err)
}

// text keeps the value of an attribute that is a text.
func (d *decoder) text(o *object, m *wire.Cursor, t *datatype, name string) error {
	text := Text{Name: name, Off: m.Off()}
	if t.class == classVariable {
		if found, err := d.heaped(m, &text); err != nil || !found {
			return err
		}
	} else {
		text.Bytes = io.NewSectionReader(d.r, text.Off, int64(t.size))
	}
	if err := d.b.Items(1); err != nil {
		return d.fail("attribute", text.Off, err)
	}
	var err error
	o.texts, err = limits.Append(d.b, o.texts, text)
	return d.fail("attribute", text.Off, err)
}

// scalar keeps the value of an attribute that is a number.
func (d *decoder) scalar(o *object, m *wire.Cursor, t *datatype, name string) error {
	p, err := m.View(int(min(t.size, 16)))
	if err != nil {
		return err
	}
	var order binary.ByteOrder = binary.LittleEndian
	if t.order == tensor.Big {
		order = binary.BigEndian
	}
	var is any
	switch t.dtype {
	case tensor.Bool:
		is = p[0] != 0
	case tensor.U8:
		is = int64(p[0])
	case tensor.I8:
		is = int64(int8(p[0]))
	case tensor.U16:
		is = int64(order.Uint16(p))
	case tensor.I16:
		is = int64(int16(order.Uint16(p)))
	case tensor.U32:
		is = int64(order.Uint32(p))
	case tensor.I32:
		is = int64(int32(order.Uint32(p)))
	case tensor.U64:
		is = order.Uint64(p)
	case tensor.I64:
		is = int64(order.Uint64(p))
	case tensor.F32:
		is = float64(math.Float32frombits(order.Uint32(p)))
	case tensor.F64:
		is = math.Float64frombits(order.Uint64(p))
	default:
		return nil
	}
	o.values, err = limits.Append(d.b, o.values, value{name, is})
	return d.fail("attribute", m.Off(), err)
}

// maxValue bounds a text that is kept as metadata; the largest are configurations of Keras.
const maxValue = 1 << 20

// keepAttributes keeps the texts of an object, and as metadata what the root has.
func (d *decoder) keepAttributes(o *object, l link) error {
	for i := range o.texts {
		t := &o.texts[i]
		if t.Of = l.name; l.root {
			t.Of = ""
		}
		var err error
		if d.out.texts, err = limits.Append(d.b, d.out.texts, *t); err != nil {
			return d.fail("attribute", t.Off, err)
		}
		if !l.root || t.Bytes.Size() > maxValue {
			continue
		}
		p, err := limits.Make[byte](d.b, int(t.Bytes.Size()))
		if err == nil {
			err = wire.ReadFull(t.Bytes, p, 0)
		}
		if err != nil {
			return d.fail("attribute", t.Off, err)
		}
		if is := beforeNUL(p); utf8.ValidString(is) {
			if o.values, err = limits.Append(d.b, o.values, value{t.Name, is}); err != nil {
				return d.fail("attribute", t.Off, err)
			}
		}
	}
	if !l.root {
		return nil
	}
	if err := d.b.Items(int64(len(o.values))); err != nil {
		return d.fail("attribute", d.place(o.at), err)
	}
	d.out.values = o.values
	return nil
}

// saysBFloat16 reports whether an attribute says, as Keras does, that elements of two bytes are
// bfloat16.
func (o *object) saysBFloat16() (bool, error) {
	if o.typ.size != 2 {
		return false, nil
	}
	for _, t := range o.texts {
		var p [16]byte
		if t.Name != "dtype" || t.Bytes.Size() > int64(len(p)) {
			continue
		}
		if err := wire.ReadFull(t.Bytes, p[:t.Bytes.Size()], 0); err != nil {
			return false, err
		}
		if beforeNUL(p[:]) == "bfloat16" {
			return true, nil
		}
	}
	return false, nil
}

// denseAttributes reads the attributes of an object that are stored in a heap.
func (d *decoder) denseAttributes(o *object) error {
	const where, record = "attribute", 17 // 8 bytes of the heap, flags, u32 order, u32 hash
	in := o.attributes
	if in.heap == none {
		return nil
	}
	h, err := d.fractalHeap(in.heap)
	if err != nil {
		return err
	}
	last, ids := foundName{}, identifiers{}
	err = d.tree2(where, in.tree, treeAttributes, func(int) int { return record }, func(p []byte) error {
		if p[8]&sharedMessage != 0 {
			return d.fail(where, d.c.Off(), errFeature.Errorf("an attribute that is stored elsewhere"))
		}
		if err := ids.add(d.b, p[:8]); err != nil {
			return err
		}
		c, err := h.object(p[:8])
		if err != nil {
			return err
		}
		if err := d.attribute(o, &c); err != nil {
			return err
		}
		last, err = d.inOrder(where, last, foundName{le32(p[13:]), o.names[len(o.names)-1]})
		return err
	})
	if err == nil {
		err = d.sameOrdered(in, ids, treeMade, 13, 0, 8) // 8 bytes of the heap, flags, u32 order
	}
	return err
}

// heaped finds a text of variable length: u32 length, u64 collection, u32 number in it. It
// reports false for one that is empty.
func (d *decoder) heaped(m *wire.Cursor, text *Text) (bool, error) {
	p, err := m.View(16)
	if err != nil {
		return false, err
	}
	length, collection, number := uint64(m.Order.Uint32(p)), m.Order.Uint64(p[4:]), m.Order.Uint32(p[12:])
	if length == 0 {
		return false, nil
	}
	off, size, err := d.inCollection(collection, number)
	if err != nil {
		return false, err
	}
	if length != size {
		return false, d.fail(textWhere, off, errStructure.Errorf("a text of %d bytes, of which %d are stored", length, size))
	}
	text.Off, text.Bytes = off, io.NewSectionReader(d.r, off, int64(length))
	// Of a text that two attributes share, each may take another length.
	return true, d.claim(uint64(off - d.base))
}

const textWhere = "text of an attribute"

// inCollection finds a numbered part of a collection:
//
//	"GCOL", version 1, 3 zeros, u64 size, then for each: u16 number, u16 uses, u32 0, u64 size, the part
//
// A part is filled up to a multiple of 8 bytes. Number 0 marks free space up to the end.
func (d *decoder) inCollection(collection uint64, number uint32) (off int64, size uint64, err error) {
	const head, entry = 16, 16
	if err := d.at(textWhere, collection); err != nil {
		return 0, 0, err
	}
	if err := d.signature(textWhere, "GCOL", 1); err != nil {
		return 0, 0, err
	}
	f := fields{c: &d.c}
	f.skip(3)
	all := f.u64()
	if f.err == nil && all < head {
		return 0, 0, d.fail(textWhere, d.place(collection), errStructure.Errorf("a heap of %d bytes", all))
	}
	c := f.sub(all - head)
	if f.err != nil {
		return 0, 0, f.err
	}
	f.c = &c
	for c.Left() >= entry {
		if err := d.steps.Step(); err != nil {
			return 0, 0, d.fail(textWhere, c.Off(), err)
		}
		found := uint32(f.u16())
		f.skip(6)
		n := f.u64()
		switch {
		case f.err != nil:
			return 0, 0, f.err
		case found == 0:
			return 0, 0, d.fail(textWhere, d.place(collection), errStructure.Errorf("the heap has no text %d", number))
		case n > uint64(c.Left()):
			return 0, 0, d.fail(textWhere, c.Off(), errStructure.Errorf("%d bytes in a heap with %d", n, c.Left()))
		case found == number:
			return c.Off(), n, nil
		}
		f.skip(min((n+7)/8*8, uint64(c.Left())))
	}
	return 0, 0, d.fail(textWhere, d.place(collection), errStructure.Errorf("the heap has no text %d", number))
}

// beforeNUL returns a text up to its first zero byte.
func beforeNUL(p []byte) string {
	text, _, _ := strings.Cut(string(p), "\x00")
	return text
}
