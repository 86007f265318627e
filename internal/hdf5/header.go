package hdf5

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
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
	sharedMessage = 2 // a flag: it stands elsewhere
)

// An object is what the header of one has said so far.
type object struct {
	at     uint64
	found  int // messages
	chunks []chunk
	space  *space
	typ    *datatype
	layout *layout
}

// A chunk is a part of a header.
type chunk struct{ at, size uint64 }

// header reads the header of an object:
//
//	version 1, 0, u16 messages, u32 links, u32 size of the first chunk, 4 zeros
func (f *file) header(address uint64) error {
	const where = "header of an object"
	if err := f.at(where, address); err != nil {
		return err
	}
	p, err := f.c.View(16)
	if err != nil {
		return err
	}
	switch {
	case string(p[:4]) == "OHDR":
		return f.fail(where, int64(address), errFeature.Errorf("a header of version 2: write the file again with h5py's default libver, and without track_order"))
	case p[0] != 1:
		return f.fail(where, int64(address), errStructure.Errorf("a header of version %d", p[0]))
	}
	count := int(f.c.Order.Uint16(p[2:]))
	o := &object{at: address}
	o.chunks = []chunk{{address + 16, uint64(f.c.Order.Uint32(p[8:]))}}
	for len(o.chunks) > 0 {
		next := o.chunks[0]
		o.chunks = o.chunks[1:]
		if err := f.messages(o, next); err != nil {
			return err
		}
	}
	if o.found != count {
		return f.fail(where, int64(address), errStructure.Errorf("%d messages, and it has %d", count, o.found))
	}
	return f.dataset(o)
}

// messages reads the messages of a part of a header, to its end, as the library does:
//
//	u16 kind, u16 size, flags, 3 zeros, then size bytes
func (f *file) messages(o *object, in chunk) error {
	const where = "header of an object"
	if err := f.at(where, in.at); err != nil {
		return err
	}
	c, err := f.c.Sub(in.size)
	if err != nil {
		return err
	}
	for ; c.Left() > 0; o.found++ {
		if err := f.steps.Step(); err != nil {
			return f.fail(where, c.Off(), err)
		}
		at := c.Off()
		p, err := c.View(8)
		if err != nil {
			return err
		}
		kind, size, flags := c.Order.Uint16(p), c.Order.Uint16(p[2:]), p[4]
		if err := c.Skip(8); err != nil {
			return err
		}
		m, err := c.Sub(uint64(size))
		if err != nil {
			return err
		}
		if flags&sharedMessage != 0 {
			return f.fail(where, at, errFeature.Errorf("a message that stands elsewhere, such as a named type"))
		}
		if err := f.message(o, kind, m); err != nil {
			return err
		}
	}
	return nil
}

// message reads one message.
func (f *file) message(o *object, kind uint16, m wire.Cursor) (err error) {
	at := m.Off()
	switch kind {
	case msgNothing, msgOldFill, msgFill, msgGroup, msgComment, msgOldTime, msgTime:
		return nil
	case msgLinks:
		return f.links(&m)
	case msgSpace:
		if o.space != nil {
			return f.twice(at, "shapes")
		}
		o.space, err = f.dimensions(&m)
		return err
	case msgType:
		if o.typ != nil {
			return f.twice(at, "types")
		}
		o.typ, err = f.datatype(&m)
		return err
	case msgLayout:
		if o.layout != nil {
			return f.twice(at, "places of its data")
		}
		o.layout, err = f.place(&m)
		return err
	case msgFilters:
		return f.filters(&m)
	case msgAttribute:
		return f.attribute(&m)
	case msgExternal:
		return f.fail("dataset", at, errExternal.Errorf("the data of a dataset lie in another file"))
	case msgLink:
		return f.link(&m)
	case msgMore, msgSymbols:
		first, err := m.U64()
		if err != nil {
			return err
		}
		second, err := m.U64()
		if err != nil {
			return err
		}
		if kind == msgSymbols {
			return f.group(first, second)
		}
		if err := f.claim(first); err != nil {
			return err
		}
		o.chunks = append(o.chunks, chunk{first, second})
		return nil
	}
	return f.fail("header of an object", at, errFeature.Errorf("a message of kind %#x: write the file again with h5py's default libver, and without track_order", kind))
}

// twice refuses an object with two messages of a kind, of which the library takes the first.
func (f *file) twice(at int64, what string) error {
	return f.fail("header of an object", at, errStructure.Errorf("two %s", what))
}

// links reads what says where the links of a group in the newer form stand. They are
// messages here, unless there is a heap:
//
//	version 0, flags, [u64 greatest order], u64 heap, u64 index, [u64 index by order]
func (f *file) links(m *wire.Cursor) error {
	const where, ordered = "group", 1
	at := m.Off()
	p, err := m.View(2)
	if err != nil {
		return err
	}
	version, flags := p[0], p[1]
	if version != 0 || flags&^3 != 0 {
		return f.fail(where, at, errStructure.Errorf("version %d of its links, flags %#x", version, flags))
	}
	skip := uint64(2)
	if flags&ordered != 0 {
		skip += 8
	}
	if err := m.Skip(skip); err != nil {
		return err
	}
	heap, err := m.U64()
	if err == nil && heap != none {
		return f.fail(where, at, errFeature.Errorf("a group of many links in the newer form: write the file again with h5py's default libver, and without track_order"))
	}
	return err
}

// Types of links.
const (
	linkHard     = 0
	linkSoft     = 1
	linkExternal = 64
)

// link reads a link of a group in the newer form:
//
//	version 1, flags, [type], [u64 order], [character set], length of the name, name, u64 header
//
// The lowest two bits of the flags say how many bytes the length has.
func (f *file) link(m *wire.Cursor) error {
	const where, hasType, hasOrder, hasSet = "group", 8, 4, 16
	at := m.Off()
	p, err := m.View(2)
	if err != nil {
		return err
	}
	version, flags := p[0], p[1]
	if version != 1 || flags > 31 {
		return f.fail(where, at, errStructure.Errorf("version %d of a link, flags %#x", version, flags))
	}
	if err := m.Skip(2); err != nil {
		return err
	}
	kind := byte(linkHard)
	if flags&hasType != 0 {
		if kind, err = m.U8(); err != nil {
			return err
		}
	}
	switch kind {
	case linkHard:
	case linkSoft:
		return f.fail(where, at, errFeature.Errorf("a soft link, which Keras does not follow"))
	case linkExternal:
		return f.fail(where, at, errExternal.Errorf("a link leads to another file"))
	default:
		return f.fail(where, at, errFeature.Errorf("a link of type %d", kind))
	}
	skip := uint64(0)
	if flags&hasOrder != 0 {
		skip += 8
	}
	if flags&hasSet != 0 {
		skip++
	}
	if err := m.Skip(skip); err != nil {
		return err
	}
	var length uint64
	for i := range 1 << (flags & 3) {
		b, err := m.U8()
		if err != nil {
			return err
		}
		length |= uint64(b) << (8 * i)
	}
	if err := m.Skip(length); err != nil {
		return err
	}
	header, err := m.U64()
	if err != nil {
		return err
	}
	return f.object(header)
}
