package hdf5

import (
	"cmp"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A layout says where the data of a dataset lie.
type layout struct {
	class      byte
	at, length uint64
	off        int64 // of the message

	// Of chunks.
	dims  []uint64 // of one, in elements, and the size of an element last
	index byte
	info  indexInfo
}

// Classes of layouts.
const (
	layoutCompact    = 0
	layoutContiguous = 1
	layoutChunked    = 2
	layoutVirtual    = 3
)

// Indexes of chunks.
const (
	indexOldTree    = 0 // of version 3
	indexSingle     = 1
	indexImplicit   = 2
	indexFixed      = 3
	indexExtensible = 4
	indexTree       = 5
)

// data reads where data lie: version, class, and what the class has.
func (d *decoder) data(m *wire.Cursor) (*layout, error) {
	const where = "place of the data"
	l := &layout{off: m.Off()}
	p, err := m.View(2)
	if err != nil {
		return nil, err
	}
	version := p[0]
	l.class = p[1]
	switch {
	case l.class == layoutVirtual && version > 3:
		return nil, d.fail(where, l.off, errExternal.Errorf("a virtual dataset, whose data lie in other datasets or files"))
	case version < 3 || version > 5:
		return nil, d.fail(where, l.off, errFeature.Errorf("version %d", version))
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
		l.at, l.length = uint64(m.Off()-d.base), uint64(n)
		return l, m.Skip(uint64(n))
	case layoutContiguous:
		return l, numbers(m, &l.at, &l.length)
	case layoutChunked:
		if version == 3 {
			return l, d.oldChunks(m, l)
		}
		return l, d.newChunks(m, l)
	}
	return nil, d.fail(where, l.off, errStructure.Errorf("class %d", l.class))
}

// oldChunks reads the layout of chunks of version 3: dimensions and one more, u64 address, u32
// for each.
func (d *decoder) oldChunks(m *wire.Cursor, l *layout) error {
	rank, err := m.U8()
	if err != nil {
		return err
	}
	if l.at, err = m.U64(); err != nil {
		return err
	}
	return d.chunkDims(m, l, rank, 4)
}

// chunkDims reads the dimensions of a chunk.
func (d *decoder) chunkDims(m *wire.Cursor, l *layout, rank byte, width int) (err error) {
	if rank < 2 || rank > maxRank+1 || width < 1 || width > 8 {
		return d.fail("place of the data", l.off, errStructure.Errorf("chunks of %d dimensions of %d bytes", int(rank)-1, width))
	}
	if l.dims, err = limits.Make[uint64](d.b, int(rank)); err != nil {
		return err
	}
	size := uint64(1)
	for i := range l.dims {
		if l.dims[i], err = number(m, width); err != nil {
			return err
		}
		var ok bool
		if size, ok = wire.Mul(size, l.dims[i]); !ok || size == 0 || size > math.MaxUint32 {
			return d.fail("place of the data", l.off, errStructure.Errorf("a chunk of no bytes, or of more than 4 GiB"))
		}
	}
	return nil
}

// newChunks reads the layout of chunks of version 4 or 5: flags, dimensions and one more, bytes
// of each, these, the kind of the index, what that has, u64 address.
func (d *decoder) newChunks(m *wire.Cursor, l *layout) error {
	const where, wholeOnly, filtered = "place of the data", 1, 2
	p, err := m.View(3)
	if err != nil {
		return err
	}
	flags, rank, width := p[0], p[1], int(p[2])
	if flags&wholeOnly != 0 || flags > 3 {
		return d.fail(where, l.off, errFeature.Errorf("flags %#x of chunks", flags))
	}
	if err := m.Skip(3); err != nil {
		return err
	}
	if err := d.chunkDims(m, l, rank, width); err != nil {
		return err
	}
	if l.index, err = m.U8(); err != nil {
		return err
	}
	if flags&filtered != 0 && l.index != indexSingle {
		return d.fail(where, l.off, errStructure.Errorf("flags %#x of chunks with index %d", flags, l.index))
	}
	if err := d.indexInfo(m, l, flags&filtered != 0); err != nil {
		return err
	}
	l.at, err = m.U64()
	return err
}

// indexInfo reads what a kind of index has before its address.
func (d *decoder) indexInfo(m *wire.Cursor, l *layout, filtered bool) (err error) {
	switch l.index {
	case indexSingle:
		if filtered {
			if l.info.size, err = m.U64(); err == nil {
				l.info.mask, err = m.U32()
			}
			l.info.filtered = true
		}
		return err
	case indexImplicit:
		return nil
	case indexFixed:
		l.info.pageBits, err = m.U8()
		return err
	case indexExtensible:
		p, err := m.View(5)
		if err != nil {
			return err
		}
		l.info.maxBits, l.info.inIndex, l.info.minBlocks, l.info.minElements, l.info.pageBits = p[0], p[1], p[2], p[3], p[4]
		return m.Skip(5)
	case indexTree:
		return m.Skip(6) // which the tree states too
	}
	return d.fail("place of the data", l.off, errFeature.Errorf("index %d of chunks", l.index))
}

// indexInfo is what the layout says of an index.
type indexInfo struct {
	filtered bool // of a single chunk: size and mask are set
	size     uint64
	mask     uint32

	maxBits, inIndex, minBlocks, minElements, pageBits byte
}

// A fill is the value of elements that were never written, as the bytes of an element; zeros if it
// is empty.
type fill struct {
	off       int64
	bytes     []byte
	undefined bool
}

// fillValue reads version 1 to 3: version, then u8 time of allocation, u8 time of writing, u8
// defined, or flags with all that; u32 size and the value, if there is one.
func (d *decoder) fillValue(m *wire.Cursor) (*fill, error) {
	const where, undefined, defined = "fill value", 16, 32
	p, err := m.View(2)
	if err != nil {
		return nil, err
	}
	f := &fill{off: m.Off()}
	version, flags := p[0], p[1]
	hasValue := false
	switch version {
	case 1, 2:
		if p, err = m.View(4); err != nil {
			return nil, err
		}
		hasValue, f.undefined = version == 1 || p[3] != 0, p[3] == 0
		if p[3] > 1 {
			return nil, d.fail(where, f.off, errStructure.Errorf("defined %d", p[3]))
		}
		err = m.Skip(4)
	case 3:
		if flags&^63 != 0 || flags&undefined != 0 && flags&defined != 0 {
			return nil, d.fail(where, f.off, errStructure.Errorf("flags %#x", flags))
		}
		hasValue, f.undefined = flags&defined != 0, flags&undefined != 0
		err = m.Skip(2)
	default:
		return nil, d.fail(where, f.off, errFeature.Errorf("version %d", version))
	}
	if err != nil || !hasValue {
		return f, err
	}
	return f, d.fillBytes(m, f)
}

// oldFillValue reads u32 size and the value.
func (d *decoder) oldFillValue(m *wire.Cursor) (*fill, error) {
	f := &fill{off: m.Off()}
	return f, d.fillBytes(m, f)
}

func (d *decoder) fillBytes(m *wire.Cursor, f *fill) error {
	n, err := m.U32()
	if err != nil {
		return err
	}
	if n == 0 || n == math.MaxUint32 { // none, or undefined
		f.undefined = f.undefined || n != 0
		return nil
	}
	f.bytes, err = m.Bytes(uint64(n))
	return err
}

// A dataset is one of the file, as its tensors are.
type dataset struct {
	at      int64
	dims    []int64 // of the space, then of the type
	space   []int64 // the dimensions that chunks divide
	typ     *datatype
	fill    *fill
	place   place
	off     int64 // of data in one piece
	length  int64
	filters []filter
	chunk   []int64 // dimensions of a chunk
	size    int64   // bytes of one
	chunks  []chunk // by their number
	storage string  // its first name
	first   int     // the tensor of that name
}

type place uint8

const (
	inOne    place = iota // in one piece
	inChunks              // in chunks
	nowhere               // never written, or empty
)

// dataset checks that the data of a dataset are as long as shape and type require, and keeps it.
func (d *decoder) dataset(o *object) error {
	at, l := d.place(o.at), o.layout
	if o.space == nil || o.typ == nil {
		return errStructure.Errorf("data without a shape or a type")
	}
	s := &dataset{at: at, typ: o.typ, space: o.space.dims, filters: o.filters, fill: o.fill}
	if s.fill == nil {
		s.fill = o.oldFill
	}
	if s.typ.class == classOpaque {
		if says, err := o.saysBFloat16(); err != nil {
			return err
		} else if !says {
			return errFeature.Errorf("bytes without a type")
		}
		t := *s.typ
		t.dtype, s.typ = tensor.BF16, &t
	}
	bytes, ok := wire.Mul(o.space.elements, s.typ.size)
	if !ok || bytes > 1<<62 {
		return errStructure.Errorf("more bytes than 62 bits can count")
	}
	if err := d.b.Expand(int64(bytes)); err != nil {
		return err
	}
	if err := d.shape(s, o.space); err != nil {
		return err
	}
	if err := d.checkParts(s, l); err != nil {
		return err
	}
	if err := d.settle(s, l, o.space, bytes); err != nil {
		return err
	}
	d.out.Elements = wire.AddCap(d.out.Elements, int64(o.space.elements))
	d.out.Bytes = wire.AddCap(d.out.Bytes, int64(bytes))
	list, err := limits.Append(d.b, d.out.datasets, s)
	d.out.datasets = list
	return err
}

// checkParts compares the fill value and the filters with the rest.
func (d *decoder) checkParts(s *dataset, l *layout) error {
	if s.fill != nil && len(s.fill.bytes) > 0 && uint64(len(s.fill.bytes)) != s.typ.size {
		return d.fail("fill value", s.fill.off, errSize.Errorf("a value of %d bytes for elements of %d", len(s.fill.bytes), s.typ.size))
	}
	if l.class != layoutChunked && len(s.filters) > 0 {
		return d.fail("filters", l.off, errStructure.Errorf("filters without chunks"))
	}
	return nil
}

// shape joins the dimensions of the space and of an array type.
func (d *decoder) shape(s *dataset, of *space) (err error) {
	own := of.dims
	if of.null {
		own = []int64{0}
	}
	if s.dims = own; len(s.typ.dims) == 0 {
		return nil
	}
	if s.dims, err = limits.Make[int64](d.b, len(own)+len(s.typ.dims)); err == nil {
		copy(s.dims, own)
		copy(s.dims[len(own):], s.typ.dims)
	}
	return err
}

// settle notes where the data of a dataset lie.
func (d *decoder) settle(s *dataset, l *layout, of *space, bytes uint64) error {
	const where = "place of the data"
	end := uint64(d.size - d.base)
	switch {
	case l.class == layoutChunked:
		return d.chunked(s, l, of)
	case l.at == none: // never written: the reader fills it
		s.place = nowhere
		return nil
	case l.at >= end && l.length > 0 || l.length > end-min(l.at, end):
		return d.fail(where, l.off, wire.ErrTruncated.Errorf("%d bytes of data at %#x, in a file of %d", l.length, l.at, d.size))
	case l.length != bytes && !(l.class == layoutCompact && l.length == 0 && bytes == 0):
		return d.fail(where, l.off, errSize.Errorf("%d bytes of data, and shape and type require %d", l.length, bytes))
	}
	s.off, s.length = d.base+int64(min(l.at, end)), int64(bytes)
	return d.span(s.off, s.length)
}

// span keeps where data of the dataset that is read lie.
func (d *decoder) span(off, length int64) error {
	if length == 0 {
		return nil
	}
	var err error
	d.spans, err = limits.Append(d.b, d.spans, span{off, off + length, int32(len(d.out.datasets))})
	return err
}

// apart proves that no two data share bytes.
func (d *decoder) apart() error {
	err := limits.SortUnstable(d.b, d.spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.end, b.end)) })
	if err != nil {
		return d.fail("", wire.NoOffset, err)
	}
	for i := 1; i < len(d.spans); i++ {
		if err := d.steps.Step(); err != nil {
			return d.fail("", wire.NoOffset, err)
		}
		if a, b := d.spans[i-1], d.spans[i]; b.off < a.end {
			return d.fail("dataset", d.out.datasets[b.of].at, wire.ErrOverlap.WithRule("hdf5.data-overlap").Errorf("data at %#x that are those of another dataset or chunk too", b.off))
		}
	}
	d.spans = nil
	return nil
}
