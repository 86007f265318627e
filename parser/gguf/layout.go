package gguf

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An Entry is one key and its value, of a type that [File.Meta] lists, or a
// slice of one of its scalar types.
type Entry struct {
	Key   string
	Value any
}

// Options for writing a file. The zero value is what other programs expect: version 3,
// little endian, the alignment in the metadata.
type Options struct {
	// Version is 1, 2 or 3; 0 means 3.
	Version uint32
	// Order is the byte order of the header. Data are written as they are given,
	// so each tensor must have this order.
	Order tensor.Order
	// Alignment is a power of two; 0 means that of general.alignment in the metadata, or
	// else 32. The key is changed or added if necessary.
	Alignment int64
	// Types gives the numbers of the types of tensors whose DType is Unknown, by
	// the index of the tensor. The size of such a tensor is its span's.
	Types []Type
}

// Options returns the options that write the file again as it is.
func (f *File) Options(b *limits.Budget) (Options, error) {
	types, err := limits.Make[Type](b, len(f.rows))
	if err != nil {
		return Options{}, encodeError("", err)
	}
	for i := range f.rows {
		types[i] = f.rows[i].typ
	}
	return Options{f.version, f.order, f.alignment, types}, nil
}

// A Plan is how a file is laid out before any of its data is known.
type Plan struct {
	// Header is the file's first bytes: keys, table of tensors, padding.
	Header []byte
	// Offsets is where each tensor's bytes begin in the file.
	Offsets []int64
	// Sizes is how many there are; zeros follow up to the next offset.
	Sizes []int64
	// Size is the length of the file.
	Size int64
}

// Layout plans a file of these tensors and metadata, both in the order given.
// Of each Info it reads name, type, shape and order, and the length of the span
// where the type has no geometry.
func Layout(b *limits.Budget, infos []tensor.Info, meta []Entry, o Options) (*Plan, error) {
	p := &planner{b: b, infos: infos, meta: meta, o: o}
	if err := p.options(); err != nil {
		return nil, encodeError("", err)
	}
	if err := p.place(); err != nil {
		return nil, err
	}
	if err := p.header(); err != nil {
		return nil, err
	}
	head := int64(len(p.w.buf))
	size, ok := wire.Add(uint64(head), uint64(p.plan.Size))
	if !ok {
		return nil, encodeError("", wire.ErrUnsupported.Errorf("more bytes than a file can hold"))
	}
	for i := range p.plan.Offsets {
		p.plan.Offsets[i] += head
	}
	p.plan.Header, p.plan.Size = p.w.buf, int64(size)
	return &p.plan, nil
}

type planner struct {
	b     *limits.Budget
	infos []tensor.Info
	meta  []Entry
	o     Options
	w     writer
	plan  Plan
	align int // index in meta of general.alignment, or -1
}

func encodeError(where string, err error) error {
	return wire.At(Format, where, wire.NoOffset, err)
}

// options fills in defaults and rejects options that no file can have.
func (p *planner) options() error {
	if p.o.Version == 0 {
		p.o.Version = 3
	}
	if p.o.Version > 3 {
		return wire.ErrUsage.Errorf("version %d; 1 to 3 are written", p.o.Version)
	}
	p.align = -1
	for i := range p.meta {
		if p.meta[i].Key == alignKey {
			p.align = i
		}
	}
	if p.o.Alignment == 0 {
		p.o.Alignment = DefaultAlignment
		if p.align >= 0 {
			stated, ok := p.meta[p.align].Value.(uint32)
			if !ok {
				return wire.ErrUnsupported.Errorf("%s is %T and must be uint32", alignKey, p.meta[p.align].Value)
			}
			p.o.Alignment = int64(stated)
		}
	}
	if a := p.o.Alignment; a <= 0 || a&(a-1) != 0 || a > 1<<31 {
		return wire.ErrUsage.Errorf("alignment %d is not a power of two up to 2^31", a)
	}
	p.w = writer{b: p.b, width: 8, order: binary.LittleEndian}
	if p.o.Version == 1 {
		p.w.width = 4
	}
	if p.o.Order == tensor.Big {
		p.w.order = binary.BigEndian
	}
	p.w.big = p.o.Order
	return nil
}

// place computes the offsets, relative to the data section.
func (p *planner) place() error {
	var err error
	n := len(p.infos)
	if p.plan.Offsets, err = limits.Make[int64](p.b, n); err != nil {
		return encodeError("", err)
	}
	if p.plan.Sizes, err = limits.Make[int64](p.b, n); err != nil {
		return encodeError("", err)
	}
	names, err := wire.NewNameSet(p.b, n, func(i int) string { return p.infos[i].Name })
	if err != nil {
		return encodeError("", err)
	}
	next := uint64(0)
	for i := range p.infos {
		info := &p.infos[i]
		size, err := p.size(i, info)
		if err == nil {
			var added bool
			if _, added, err = names.Add(i); err == nil && !added {
				err = wire.ErrDuplicate.Errorf("another tensor has this name")
			}
		}
		end, ok := wire.Add(next, uint64(size))
		padded, fits := pad(end, p.o.Alignment)
		if err == nil && !(ok && fits) {
			err = wire.ErrUnsupported.Errorf("more bytes of data than a file can hold")
		}
		if err != nil {
			return encodeError(place("tensor", i, info.Name), err)
		}
		p.plan.Offsets[i], p.plan.Sizes[i] = int64(next), size
		next = padded
	}
	p.plan.Size = int64(next)
	return nil
}

// size returns the number of bytes of a tensor, or an error if the format cannot hold it.
func (p *planner) size(i int, info *tensor.Info) (int64, error) {
	switch {
	case len(info.Shape) > MaxDims:
		return 0, wire.ErrUnsupported.Errorf("%d dimensions; ggml has at most %d", len(info.Shape), MaxDims)
	case len(info.Name) > MaxNameBytes || badText(info.Name, false) >= 0:
		return 0, wire.ErrUnsupported.Errorf("the name is not UTF-8 without NUL, or longer than %d bytes", MaxNameBytes)
	case info.Strides != nil:
		return 0, wire.ErrUnsupported.Errorf("GGUF holds row-major data only")
	}
	if info.DType == tensor.Unknown {
		if i >= len(p.o.Types) || p.o.Types[i].DType() != tensor.Unknown {
			return 0, wire.ErrUnsupported.Errorf("GGUF has no number for type %s", wire.Quote(info.TypeName()))
		}
		return info.Span.Len, nil
	}
	if _, ok := TypeOf(info.DType); !ok {
		return 0, wire.ErrUnsupported.Errorf("GGUF has no type %v", info.DType)
	}
	g, _ := info.DType.Geometry()
	if g.Bytes > 1 && info.Order != p.o.Order {
		return 0, wire.ErrUnsupported.Errorf("the data are %v-endian, but the file is to be %v-endian", info.Order, p.o.Order)
	}
	n, ok := wire.Product(info.Shape)
	row := uint64(1)
	if d := len(info.Shape); d > 0 {
		row = uint64(info.Shape[d-1])
	}
	if !ok || row%uint64(g.Elems) != 0 {
		return 0, wire.ErrUnsupported.Errorf("shape %v does not fill whole blocks of %d elements (%v)", info.Shape, g.Elems, info.DType)
	}
	size, ok := g.Size(n)
	if !ok {
		return 0, wire.ErrUnsupported.Errorf("more bytes of data than a file can hold")
	}
	return int64(size), nil
}

// header writes everything before the data.
func (p *planner) header() error {
	w := &p.w
	keys := len(p.meta)
	added := p.align < 0 && p.o.Alignment != DefaultAlignment
	if added {
		keys++
	}
	w.put(Magic)
	w.u32(p.o.Version)
	w.length(uint64(len(p.infos)))
	w.length(uint64(keys))
	if err := p.keys(); err != nil {
		return err
	}
	if added {
		w.text(alignKey)
		w.u32(uint32(KindU32))
		w.u32(uint32(p.o.Alignment))
	}
	for i := range p.infos {
		p.row(i)
	}
	if len(p.infos) > 0 {
		w.align(p.o.Alignment)
	}
	return encodeError("", w.err)
}

func (p *planner) keys() error {
	names, err := wire.NewNameSet(p.b, len(p.meta), func(i int) string { return p.meta[i].Key })
	if err != nil {
		return encodeError("", err)
	}
	for i := range p.meta {
		e := p.meta[i]
		if i == p.align {
			e.Value = uint32(p.o.Alignment)
		}
		_, added, err := names.Add(i)
		switch {
		case err != nil:
		case !added:
			err = wire.ErrDuplicate.Errorf("another key has this name")
		case e.Key == "" || len(e.Key) > MaxKeyBytes || badText(e.Key, false) >= 0:
			err = wire.ErrUnsupported.Errorf("a key is 1 to %d bytes of UTF-8 without NUL", MaxKeyBytes)
		default:
			p.w.text(e.Key)
			p.w.value(e.Value)
			err = p.w.err
		}
		if err != nil {
			return encodeError(place("key", i, e.Key), err)
		}
	}
	return nil
}

// row writes one row of the table, dimensions innermost first.
func (p *planner) row(i int) {
	w, info := &p.w, &p.infos[i]
	w.text(info.Name)
	w.u32(uint32(len(info.Shape)))
	for d := len(info.Shape) - 1; d >= 0; d-- {
		w.length(uint64(info.Shape[d]))
	}
	t, ok := TypeOf(info.DType)
	if !ok {
		t = p.o.Types[i]
	}
	w.u32(uint32(t))
	w.u64(uint64(p.plan.Offsets[i]))
}
