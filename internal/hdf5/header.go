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
	msgAttributes = 0x15
	msgUses       = 0x16
	sharedMessage = 2 // a flag: it stands elsewhere
)

// An object is what the header of one has said so far.
type object struct {
	at     uint64
	found  int    // messages
	head   uint64 // bytes before each of them
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
		return f.newerHeader(address)
	case p[0] != 1:
		return f.fail(where, int64(address), errStructure.Errorf("a header of version %d", p[0]))
	}
	count := int(f.c.Order.Uint16(p[2:]))
	o := &object{at: address}
	o.chunks, o.head = []chunk{{address + 16, uint64(f.c.Order.Uint32(p[8:]))}}, oldMessage
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

// oldMessage is how many bytes stand before a message in a header of version 1.
const oldMessage = 8

// newerHeader reads the header of an object in the newer form:
//
//	"OHDR", version 2, flags, [4 u32 times], [2 u16 of attributes], size of the first chunk, messages, u32 sum
//
// The lowest two bits of the flags say how many bytes the size has.
func (f *file) newerHeader(address uint64) error {
	const where, version, ordered, phased, timed, known = "header of an object", 2, 4, 16, 32, 63
	p, err := f.c.View(6)
	if err != nil {
		return err
	}
	flags := p[5]
	if p[4] != version || flags&^known != 0 {
		return f.fail(where, int64(address), errFeature.Errorf("a header of version %d, flags %#x", p[4], flags))
	}
	head := uint64(6)
	if flags&timed != 0 {
		head += 16
	}
	if flags&phased != 0 {
		head += 4
	}
	width := uint64(1) << (flags & 3)
	if p, err = f.c.View(int(head + width)); err != nil {
		return err
	}
	size := number(p[head:])
	all, ok := wire.Add(size, head+width)
	if !ok {
		return f.fail(where, int64(address), errStructure.Errorf("a header of %d bytes", size))
	}
	if err := f.summed(where, address, all); err != nil {
		return err
	}
	o := &object{at: address, chunks: []chunk{{address + head + width, size}}, head: 4}
	if flags&ordered != 0 {
		o.head += 2
	}
	for first := true; len(o.chunks) > 0; first = false {
		next := o.chunks[0]
		o.chunks = o.chunks[1:]
		if !first {
			if next, err = f.continued(next); err != nil {
				return err
			}
		}
		if err := f.messages(o, next); err != nil {
			return err
		}
	}
	return f.dataset(o)
}

// continued returns where the messages of a further part of a header are: "OCHK", messages, u32 sum.
func (f *file) continued(in chunk) (chunk, error) {
	const where, mark, sum = "header of an object", 4, 4
	if in.size < mark+sum {
		return in, f.fail(where, int64(min(in.at, uint64(f.size))), errStructure.Errorf("a part of a header of %d bytes", in.size))
	}
	if err := f.summed(where, in.at, in.size-sum); err != nil {
		return in, err
	}
	if err := f.at(where, in.at); err != nil {
		return in, err
	}
	p, err := f.c.View(mark)
	if err != nil {
		return in, err
	}
	if string(p) != "OCHK" {
		return in, f.fail(where, int64(in.at), errStructure.Errorf("a part of a header begins with % x", p))
	}
	return chunk{in.at + mark, in.size - mark - sum}, nil
}

// messages reads the messages of a part of a header, to its end, as the library does:
//
//	u16 kind, u16 size, flags, 3 zeros, then size bytes
//
// and in the newer form, where fewer bytes than a message needs may be left over:
//
//	kind, u16 size, flags, [u16 order], then size bytes
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
		if o.head != oldMessage && c.Left() < int64(o.head) {
			return nil
		}
		if err := f.steps.Step(); err != nil {
			return f.fail(where, c.Off(), err)
		}
		at := c.Off()
		p, err := c.View(int(o.head))
		if err != nil {
			return err
		}
		kind, size, flags := uint16(p[0]), c.Order.Uint16(p[1:]), p[3]
		if o.head == oldMessage {
			kind, size, flags = c.Order.Uint16(p), c.Order.Uint16(p[2:]), p[4]
		}
		if err := c.Skip(o.head); err != nil {
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
	case msgNothing, msgOldFill, msgFill, msgGroup, msgComment, msgOldTime, msgTime, msgUses:
		return nil
	case msgLinks, msgAttributes:
		return f.many(&m, kind == msgLinks)
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
	return f.fail("header of an object", at, errFeature.Errorf("a message of kind %#x", kind))
}

// twice refuses an object with two messages of a kind, of which the library takes the first.
func (f *file) twice(at int64, what string) error {
	return f.fail("header of an object", at, errStructure.Errorf("two %s", what))
}

// many reads what says where the links of a group in the newer form stand, or the attributes of an
// object. They are messages, unless there is a heap:
//
//	version 0, flags, [greatest order: u64 of links, u16 of attributes], u64 heap, u64 index, [u64 index by order]
func (f *file) many(m *wire.Cursor, links bool) error {
	const ordered, indexed = 1, 2
	where := "attributes"
	if links {
		where = "group"
	}
	at := m.Off()
	p, err := m.View(2)
	if err != nil {
		return err
	}
	version, flags := p[0], p[1]
	if version != 0 || flags&^3 != 0 {
		return f.fail(where, at, errStructure.Errorf("version %d of what says where they are, flags %#x", version, flags))
	}
	skip := uint64(2)
	switch {
	case flags&ordered == 0:
	case links:
		skip += 8
	default:
		skip += 2
	}
	if err := m.Skip(skip); err != nil {
		return err
	}
	v := [3]uint64{2: none} // heap, index, index by order
	for i := range v {
		if i == 2 && flags&indexed == 0 {
			break
		}
		if v[i], err = m.U64(); err != nil {
			return err
		}
	}
	if v[0] == none {
		return nil
	}
	return f.indexed(v[0], v[1], v[2], links)
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
