package hdf5

import (
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A space is the shape of a dataset or an attribute.
type space struct {
	elements uint64
	scalar   bool
}

// maxRank is the largest number of dimensions that HDF5 has.
const maxRank = 32

// dimensions reads a shape: version 1, or 2 without what is reserved.
func (f *file) dimensions(m *wire.Cursor) (*space, error) {
	const where = "shape"
	at := m.Off()
	p, err := m.View(4)
	if err != nil {
		return nil, err
	}
	version, rank, flags, kind := p[0], p[1], p[2], p[3]
	head := uint64(4)
	switch version {
	case 1:
		head, kind = 8, 1
		if rank == 0 {
			kind = 0
		}
	case 2:
	default:
		return nil, f.fail(where, at, errFeature.Errorf("version %d", version))
	}
	switch {
	case rank > maxRank, flags&^1 != 0, kind > 2:
		return nil, f.fail(where, at, errStructure.Errorf("%d dimensions, flags %#x, kind %d", rank, flags, kind))
	case kind == 2:
		return &space{}, nil // empty
	}
	if err := m.Skip(head); err != nil {
		return nil, err
	}
	s := &space{elements: 1, scalar: rank == 0}
	for range rank {
		n, err := m.U64()
		if err != nil {
			return nil, err
		}
		var ok bool
		if s.elements, ok = wire.Mul(s.elements, n); !ok {
			return nil, f.fail(where, at, errStructure.Errorf("more elements than 63 bits can count"))
		}
	}
	return s, nil
}

// A datatype is the type of an element.
type datatype struct {
	class byte
	size  int64
	list  bool // of variable length, but no text
}

// Classes of types.
const (
	classInteger   = 0
	classFloat     = 1
	classText      = 3
	classBits      = 4
	classOpaque    = 5
	classCompound  = 6
	classReference = 7
	classEnum      = 8
	classVariable  = 9
	classArray     = 10
)

// datatype reads a type: class and version, 24 bits of the class, and the size.
func (f *file) datatype(m *wire.Cursor) (*datatype, error) {
	at := m.Off()
	p, err := m.View(8)
	if err != nil {
		return nil, err
	}
	t := &datatype{class: p[0] & 15, size: int64(m.Order.Uint32(p[4:]))}
	switch t.class {
	case classInteger, classFloat, classText, classBits, classOpaque, classCompound, classEnum, classArray:
	case classVariable:
		t.list = p[1]&15 != 1
	default:
		return nil, f.fail("type", at, errFeature.Errorf("a type of class %d", t.class))
	}
	if t.size == 0 || t.list {
		return nil, f.fail("type", at, errFeature.Errorf("a type of class %d of %d bytes, or a list of variable length", t.class, t.size))
	}
	return t, nil
}

// A layout says where the data of a dataset lie.
type layout struct {
	class      byte
	at, length uint64
	off        int64
}

// Classes of layouts.
const (
	layoutCompact    = 0
	layoutContiguous = 1
	layoutChunked    = 2
	layoutVirtual    = 3
)

// place reads where data lie.
func (f *file) place(m *wire.Cursor) (*layout, error) {
	const where = "place of the data"
	l := &layout{off: m.Off()}
	p, err := m.View(2)
	if err != nil {
		return nil, err
	}
	version := p[0]
	l.class = p[1]
	switch {
	case version > 3 && l.class == layoutVirtual:
		return nil, f.fail(where, l.off, errExternal.Errorf("a virtual dataset, whose data lie in other datasets or files"))
	case version < 3 || version > 5:
		return nil, f.fail(where, l.off, errFeature.Errorf("version %d", version))
	}
	if err := m.Skip(2); err != nil {
		return nil, err
	}
	switch l.class {
	case layoutCompact:
		n, err := m.U16()
		if err != nil {
			return nil, err
		}
		l.at, l.length = uint64(m.Off()), uint64(n)
		return l, m.Skip(uint64(n))
	case layoutContiguous:
		if l.at, err = m.U64(); err == nil {
			l.length, err = m.U64()
		}
		return l, err
	case layoutChunked:
		if version > 3 {
			return l, f.indexedChunks(m, l)
		}
		if err := m.Skip(1); err != nil {
			return nil, err
		}
		l.at, err = m.U64()
		return l, err
	}
	return nil, f.fail(where, l.off, errStructure.Errorf("class %d", l.class))
}

// Indexes of chunks in the newer form, and how many bytes describe each.
const (
	oneChunk        = 1 // with filters: u64 size, u32 filters that were left out
	noIndex         = 2
	fixedArray      = 3
	extensibleArray = 4
	treeOfChunks    = 5
)

// indexedChunks reads where chunks lie in the newer form:
//
//	flags, dimensions, bytes of a number, the numbers, kind of index, what describes it, u64 address
func (f *file) indexedChunks(m *wire.Cursor, l *layout) error {
	const where, filtered, known = "place of the data", 2, 3
	p, err := m.View(3)
	if err != nil {
		return err
	}
	flags, rank, width := p[0], p[1], p[2]
	if flags&^known != 0 || rank > maxRank+1 || width == 0 || width > 8 {
		return f.fail(where, l.off, errStructure.Errorf("chunks of %d dimensions of %d bytes, flags %#x", rank, width, flags))
	}
	if err := m.Skip(3 + uint64(rank)*uint64(width)); err != nil {
		return err
	}
	kind, err := m.U8()
	if err != nil {
		return err
	}
	skip, ok := map[byte]uint64{oneChunk: 0, noIndex: 0, fixedArray: 1, extensibleArray: 5, treeOfChunks: 6}[kind]
	if !ok {
		return f.fail(where, l.off, errFeature.Errorf("chunks with an index of kind %d", kind))
	}
	if kind == oneChunk && flags&filtered != 0 {
		skip = 12
	}
	if err := m.Skip(skip); err != nil {
		return err
	}
	l.at, err = m.U64()
	return err
}

// knownFilters are those of the library, and LZF of h5py.
var knownFilters = map[uint16]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 32000: true}

// filters reads through what data in chunks pass, in version 1: version, filters, 6 zeros, for each u16
// number, u16 length of a name, u16 flags, u16 values, then the name, and the values in pairs. In version 2
// no zeros follow, and only filters of others have a name.
func (f *file) filters(m *wire.Cursor) error {
	const where, old, newer, firstNamed = "filters", 1, 2, 256
	at := m.Off()
	p, err := m.View(2)
	if err != nil {
		return err
	}
	version, count := p[0], p[1]
	head := uint64(2)
	switch version {
	case old:
		head = 8
	case newer:
	default:
		return f.fail(where, at, errFeature.Errorf("version %d", version))
	}
	if err := m.Skip(head); err != nil {
		return err
	}
	for range count {
		if err := f.steps.Step(); err != nil {
			return f.fail(where, m.Off(), err)
		}
		number, err := m.U16()
		if err != nil {
			return err
		}
		if !knownFilters[number] {
			return f.fail(where, m.Off()-2, errFeature.Errorf("filter %d, for which the library loads a plugin", number))
		}
		name := uint64(0)
		if version == old || number >= firstNamed {
			n, err := m.U16()
			if err != nil {
				return err
			}
			name = uint64(n)
		}
		if p, err = m.View(4); err != nil {
			return err
		}
		values := uint64(m.Order.Uint16(p[2:]))
		if err := m.Skip(4 + padded(name, version, 8) + padded(values, version, 2)*4); err != nil {
			return err
		}
	}
	return nil
}

// padded is a count filled up to a multiple, as version 1 of filters has it.
func padded(n uint64, version byte, to uint64) uint64 {
	if version > 1 {
		return n
	}
	return (n + to - 1) / to * to
}

// dataset checks that the data of a dataset are as long as shape and type require.
func (f *file) dataset(o *object) error {
	const where = "dataset"
	if o.layout == nil {
		return nil
	}
	at, l := int64(o.at), o.layout
	if o.space == nil || o.typ == nil {
		return f.fail(where, at, errStructure.Errorf("data without a shape or a type"))
	}
	if o.typ.class == classOpaque {
		return f.fail(where, at, errFeature.Errorf("bytes without a type"))
	}
	bytes, ok := wire.Mul(o.space.elements, uint64(o.typ.size))
	if !ok || bytes > math.MaxInt64 {
		return f.fail(where, at, errStructure.Errorf("more bytes than 63 bits can count"))
	}
	if err := f.b.Expand(int64(bytes)); err != nil {
		return f.fail(where, at, err)
	}
	f.out.Tensors++
	f.out.Elements = wire.AddCap(f.out.Elements, int64(o.space.elements))
	f.out.Bytes = wire.AddCap(f.out.Bytes, int64(bytes))
	if l.at == none { // never written: the reader fills it
		return nil
	}
	if l.at >= uint64(f.size) && l.length > 0 || l.class != layoutChunked && l.length > uint64(f.size)-min(l.at, uint64(f.size)) {
		return f.fail(where, l.off, wire.ErrTruncated.Errorf("%d bytes of data at %#x, in a file of %d", l.length, l.at, f.size))
	}
	if l.class != layoutChunked && l.length != bytes {
		return f.fail(where, l.off, wire.ErrMismatch.WithRule("hdf5.data-size").Errorf("%d bytes of data, and shape and type require %d", l.length, bytes))
	}
	return nil
}
