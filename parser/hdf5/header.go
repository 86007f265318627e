package hdf5

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Kinds of messages in the header of an object.
const (
	msgNothing    = 0x00
	msgSpace      = 0x01
	msgLinks      = 0x02
	msgType       = 0x03
	msgOldFill    = 0x04
	msgFill       = 0x05
	msgLink       = 0x06
	msgExternal   = 0x07
	msgLayout     = 0x08
	msgGroup      = 0x0a
	msgFilters    = 0x0b
	msgAttribute  = 0x0c
	msgComment    = 0x0d
	msgOldTime    = 0x0e
	msgMore       = 0x10
	msgSymbols    = 0x11
	msgTime       = 0x12
	msgTrees      = 0x13 // how many entries nodes of trees have
	msgAttributes = 0x15
	msgUses       = 0x16
	msgFileSpace  = 0x17
	sharedMessage = 2 // a flag: the message is stored elsewhere
)

// An object is what the header of one has said.
type object struct {
	at      uint64
	version byte
	found   int             // messages
	has     map[uint16]bool // kinds of messages that may appear only once
	parts   []part

	space   *space
	typ     *datatype
	layout  *layout
	filters []filter
	fill    *fill
	oldFill *fill

	symbols *symbols    // of a group in the older form
	links   []link      // that are messages
	dense   *denseLinks // of a group in the newer form

	attributes *denseLinks // that are no messages
	texts      []Text
	values     []value
	names      []string // of attributes
}

func (o *object) isGroup() bool   { return o.symbols != nil || o.dense != nil || len(o.links) > 0 }
func (o *object) isDataset() bool { return o.layout != nil }

// A part is a range of bytes with messages of a header.
type part struct{ at, size uint64 }

// header reads the header of an object, of version 1 or 2.
func (d *decoder) header(address uint64) (*object, error) {
	const where = "header of an object"
	if err := d.claim(address); err != nil {
		return nil, err
	}
	if err := d.at(where, address); err != nil {
		return nil, err
	}
	p, err := d.c.View(4)
	if err != nil {
		return nil, err
	}
	o := &object{at: address}
	if string(p) == "OHDR" {
		err = d.newHeader(o)
	} else {
		err = d.oldHeader(o)
	}
	if err != nil {
		return nil, err
	}
	if o.attributes != nil {
		err = d.denseAttributes(o)
	}
	return o, err
}

// oldHeader reads version 1:
//
//	version 1, 0, u16 messages, u32 links, u32 size of the first part, 4 zeros
func (d *decoder) oldHeader(o *object) error {
	const where = "header of an object"
	p, err := d.c.View(16)
	if err != nil {
		return err
	}
	if o.version = p[0]; o.version != 1 {
		return d.fail(where, d.place(o.at), errStructure.Errorf("a header of version %d", p[0]))
	}
	count := int(d.c.Order.Uint16(p[2:]))
	o.parts = []part{{o.at + 16, uint64(d.c.Order.Uint32(p[8:]))}}
	for len(o.parts) > 0 {
		next := o.parts[0]
		o.parts = o.parts[1:]
		if err := d.at(where, next.at); err != nil {
			return err
		}
		c, err := d.c.Sub(next.size)
		if err != nil {
			return err
		}
		if err := d.messages(o, &c, 0); err != nil {
			return err
		}
	}
	if o.found != count {
		return d.fail(where, d.place(o.at), errStructure.Errorf("%d messages, and it has %d", count, o.found))
	}
	return nil
}

// Flags of a header of version 2.
const (
	headerOrdered  = 4 // messages have the order in which they were made
	headerPhases   = 16
	headerHasTimes = 32
)

// newHeader reads version 2:
//
//	"OHDR", version 2, flags, [4 u32 times], [2 u16 numbers of attributes], size of the first part, messages, checksum
//
// The lowest two bits of the flags say how many bytes the size has. Other parts begin with
// "OCHK" and end with a checksum too.
func (d *decoder) newHeader(o *object) error {
	const where = "header of an object"
	start := d.c
	if err := d.signature(where, "OHDR", 2); err != nil {
		return err
	}
	f := fields{c: &d.c}
	flags := f.u8()
	if o.version = 2; flags&^63 != 0 {
		return d.fail(where, d.place(o.at), errStructure.Errorf("flags %#x", flags))
	}
	if flags&headerHasTimes != 0 {
		f.skip(16)
	}
	if flags&headerPhases != 0 {
		f.skip(4)
	}
	size := f.u(1 << (flags & 3))
	c := f.sub(size)
	if f.err != nil {
		return f.err
	}
	d.c = start
	if err := d.sum(where, uint64(c.Off()-start.Off())+size); err != nil {
		return err
	}
	if err := d.messages(o, &c, flags); err != nil {
		return err
	}
	for len(o.parts) > 0 {
		next := o.parts[0]
		o.parts = o.parts[1:]
		if err := d.morePart(o, next, flags); err != nil {
			return err
		}
	}
	return nil
}

// morePart reads a further part of a header of version 2.
func (d *decoder) morePart(o *object, in part, flags byte) error {
	const where, around = "header of an object", 8
	if err := d.at(where, in.at); err != nil {
		return err
	}
	if in.size < around {
		return d.fail(where, d.c.Off(), errStructure.Errorf("a part of %d bytes", in.size))
	}
	if err := d.sum(where, in.size-4); err != nil {
		return err
	}
	p, err := d.c.View(4)
	if err != nil {
		return err
	}
	if string(p) != "OCHK" {
		return d.fail(where, d.c.Off(), errStructure.Errorf("it begins with % x, not with %q", p, "OCHK"))
	}
	if err := d.c.Skip(4); err != nil {
		return err
	}
	c, err := d.c.Sub(in.size - around)
	if err != nil {
		return err
	}
	return d.messages(o, &c, flags)
}

// messages reads the messages of a part of a header, to its end, as the library does. In
// version 1:
//
//	u16 kind, u16 size, flags, 3 zeros, then size bytes
//
// In version 2, where fewer bytes than a message has may follow the last one:
//
//	kind, u16 size, flags, [u16 order], then size bytes
func (d *decoder) messages(o *object, c *wire.Cursor, flags byte) error {
	const where = "header of an object"
	for ; c.Left() > 0; o.found++ {
		if o.version == 2 && c.Left() < 4+2*int64(flags&headerOrdered/headerOrdered) {
			break
		}
		if err := d.steps.Step(); err != nil {
			return d.fail(where, c.Off(), err)
		}
		at := c.Off()
		f := fields{c: c}
		var kind uint16
		var size uint64
		var shared byte
		if o.version == 1 {
			kind, size, shared = f.u16(), f.u(2), f.u8()
			f.skip(3)
		} else {
			kind, size, shared = uint16(f.u8()), f.u(2), f.u8()
			f.skip(2 * uint64(flags&headerOrdered/headerOrdered))
		}
		m := f.sub(size)
		if f.err != nil {
			return f.err
		}
		if shared&sharedMessage != 0 {
			return d.fail(where, at, errFeature.Errorf("a message that is stored elsewhere, such as a named type"))
		}
		if err := d.message(o, kind, m); err != nil {
			return err
		}
	}
	return nil
}

// message reads one message.
func (d *decoder) message(o *object, kind uint16, m wire.Cursor) (err error) {
	at := m.Off()
	switch kind {
	case msgNothing, msgGroup, msgComment, msgOldTime, msgTime, msgTrees, msgUses, msgFileSpace:
		return nil
	case msgAttribute:
		return d.attribute(o, &m)
	case msgExternal:
		return d.fail("dataset", at, errExternal.Errorf("the data of a dataset lie in another file"))
	case msgLink:
		l, err := d.link(&m)
		if err != nil {
			return err
		}
		o.links, err = limits.Append(d.b, o.links, l)
		return err
	case msgMore, msgSymbols:
		return d.pair(o, kind, &m)
	}
	return d.single(o, kind, &m)
}

// single reads a message that an object has once.
func (d *decoder) single(o *object, kind uint16, m *wire.Cursor) (err error) {
	at := m.Off()
	if o.has == nil {
		o.has = map[uint16]bool{}
	}
	if o.has[kind] {
		return d.fail("header of an object", at, errStructure.Errorf("two messages of kind %#x: the library reads only the first", kind))
	}
	o.has[kind] = true
	switch kind {
	case msgSpace:
		o.space, err = d.dimensions(m)
	case msgType:
		o.typ, err = d.datatype(m)
	case msgLayout:
		o.layout, err = d.data(m)
	case msgFilters:
		o.filters, err = d.filters(m)
	case msgFill:
		o.fill, err = d.fillValue(m)
	case msgOldFill:
		o.oldFill, err = d.oldFillValue(m)
	case msgLinks:
		o.dense, err = d.denseLinks(m)
	case msgAttributes:
		o.attributes, err = d.denseInfo(m)
	default:
		return d.fail("header of an object", at, errFeature.Errorf("a message of kind %#x", kind))
	}
	return err
}

// pair reads a message of two addresses, or an address and a size: of a group, or of a further
// part of the header.
func (d *decoder) pair(o *object, kind uint16, m *wire.Cursor) error {
	at := m.Off()
	var first, second uint64
	if err := numbers(m, &first, &second); err != nil {
		return err
	}
	if kind == msgSymbols {
		if o.symbols != nil {
			return d.fail("header of an object", at, errStructure.Errorf("two trees of a group"))
		}
		o.symbols = &symbols{first, second}
		return nil
	}
	if err := d.claim(first); err != nil {
		return err
	}
	var err error
	o.parts, err = limits.Append(d.b, o.parts, part{first, second})
	return err
}
