package gguf

import (
	"math"
	"math/bits"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

const (
	// DefaultAlignment is the alignment of a file that does not state one.
	DefaultAlignment = 32
	// MaxDims is the number of dimensions of a ggml tensor (GGML_MAX_DIMS).
	MaxDims = 4
	// MaxNameBytes bounds a tensor's name. The specification says 64, of which
	// readers in C need one for a NUL; a longer one is a finding up to here.
	MaxNameBytes = 65535
)

// alignKey is the key that states the alignment.
const alignKey = "general.alignment"

// align reads the alignment, and allocates the lists of tensors.
func (d *decoder) align() error {
	f := d.out
	f.alignment = DefaultAlignment
	if i, ok := d.names.Find(alignKey); ok {
		p := &f.pairs[i]
		if p.kind != KindU32 {
			return d.c.FailAt(place("key", i, p.key), p.off, wire.ErrMismatch.WithRule("gguf.alignment-kind").Errorf("is %v and must be u32", p.kind))
		}
		if p.num == 0 || p.num&(p.num-1) != 0 {
			return d.c.FailAt(place("key", i, p.key), p.body.Off, wire.ErrAlign.WithRule("gguf.alignment-power").Errorf("%d is not a power of two", p.num))
		}
		f.alignment = int64(p.num)
	}
	f.keyNames = d.names
	var err error
	room := min(d.tensors, 1<<10)
	if f.Infos, err = limits.Make[tensor.Info](d.b, room); err != nil {
		return d.c.Fail("", err)
	}
	if f.rows, err = limits.Make[row](d.b, room); err != nil {
		return d.c.Fail("", err)
	}
	f.Infos, f.rows = f.Infos[:0], f.rows[:0]
	d.names, err = wire.NewNameSet(d.b, room, func(i int) string { return f.Infos[i].Name })
	if err != nil {
		return d.c.Fail("", err)
	}
	d.stage = stTensor
	if d.tensors == 0 {
		d.stage = stSpans
	}
	return nil
}

// A row is what the table of tensors has and tensor.Info does not.
type row struct {
	off    int64  // of the description in the file
	offset uint64 // of the data, as stated
	typ    Type
	dims   uint8
}

// offsetAt returns where the i-th row states the offset of its data.
func (f *File) offsetAt(i int) int64 {
	r := &f.rows[i]
	dim := int64(8)
	if f.version == 1 {
		dim = 4
	}
	return r.off + int64(f.width()) + int64(len(f.Infos[i].Name)) + 4 + int64(r.dims)*dim + 4
}

// tensor reads the next rows of the table: all rows of the common form in the window of
// the file, or else one row.
func (d *decoder) tensor() error {
	f := d.out
	i := len(f.Infos)
	if err := d.usualRows(); err != nil {
		return err
	}
	if len(f.Infos) == i {
		off := d.c.Off()
		if err := d.rowRoom(); err != nil {
			return within(place("tensor", i, ""), off, err)
		}
		f.Infos, f.rows = f.Infos[:i+1], f.rows[:i+1]
		info, r := &f.Infos[i], &f.rows[i]
		*info, *r = tensor.Info{Order: f.order}, row{off: off}
		if err := d.row(r, info, i); err != nil {
			return within(place("tensor", i, info.Name), off, err)
		}
		if err := d.unique(i); err != nil {
			return err
		}
	}
	if len(f.Infos) == d.tensors {
		d.stage = stSpans
	}
	return nil
}

// unique returns an error if an earlier tensor has the same name.
func (d *decoder) unique(i int) error {
	f := d.out
	earlier, added, err := d.names.Add(i)
	if err == nil && !added {
		err = wire.ErrDuplicate.WithRule("gguf.tensor-twice").Errorf("tensor %d has the same name", earlier)
	}
	if err != nil {
		return d.c.FailAt(place("tensor", i, f.Infos[i].Name), f.rows[i].off, err)
	}
	return nil
}

// rowRoom makes room for one more tensor and its dimensions.
func (d *decoder) rowRoom() error {
	f := d.out
	if len(f.Infos) < cap(f.Infos) && len(f.rows) < cap(f.rows) && cap(d.dims)-len(d.dims) >= MaxDims {
		return nil
	}
	var err error
	if f.Infos, err = limits.Grow(d.b, f.Infos, 1); err != nil {
		return err
	}
	if f.rows, err = limits.Grow(d.b, f.rows, 1); err != nil {
		return err
	}
	if cap(d.dims)-len(d.dims) >= MaxDims {
		return nil
	}
	room, err := limits.Make[int64](d.b, MaxDims+2*min(d.tensors-len(f.Infos), 1<<10))
	d.dims = room[:0]
	return err
}

// row reads a row of any form.
func (d *decoder) row(r *row, info *tensor.Info, i int) error {
	if d.trace != nil {
		d.trace.head("tensor %d", i)
	}
	name, err := d.text("name", MaxNameBytes, false)
	if err != nil {
		return err
	}
	info.Name = name
	return d.describe(r, info)
}

// describe reads dimensions, type and offset, and finds the size of the data.
func (d *decoder) describe(r *row, info *tensor.Info) error {
	at := d.c.Off()
	n, err := d.c.U32()
	if err != nil {
		return err
	}
	if n > MaxDims {
		return d.c.FailAt("", at, wire.ErrRange.WithRule("gguf.dimensions").Errorf("%d dimensions; ggml has at most %d", n, MaxDims))
	}
	d.mark("number of dimensions", 4, n)
	r.dims = uint8(n)
	elements, err := d.shape(info, int(n))
	if err != nil {
		return err
	}
	p, err := d.c.View(12)
	if err != nil {
		return err
	}
	r.typ, r.offset = Type(d.c.Order.Uint32(p)), d.c.Order.Uint64(p[4:])
	if err := d.typed(info, r.typ, elements); err != nil {
		return err
	}
	if err := d.c.Skip(12); err != nil {
		return err
	}
	if d.trace != nil {
		d.trace.add(d.c.Off()-12, d.c.Off()-8, "type", r.typ)
		d.mark("offset", 8, r.offset)
	}
	return nil
}

// shape reads the dimensions, which ggml writes innermost first, and proves that their
// product fits. It returns the number of elements. The nonzero dimensions must fit even
// if another is zero, since ggml multiplies them.
func (d *decoder) shape(info *tensor.Info, n int) (uint64, error) {
	width := int(d.f.width())
	p, err := d.c.View(n * width)
	if err != nil {
		return 0, err
	}
	dims := d.dims[len(d.dims) : len(d.dims)+n : len(d.dims)+n]
	product, ok, zero := uint64(1), true, false
	for i := range n {
		v := d.dimension(p, i)
		switch {
		case v > math.MaxInt64:
			return 0, d.c.FailAt("", d.c.Off()+int64(i*width), wire.ErrRange.WithRule("gguf.dimension").Errorf("dimension %d", v))
		case v == 0:
			zero = true
		case ok:
			product, ok = wire.Mul(product, v)
		}
		dims[n-1-i] = int64(v)
	}
	if !ok {
		return 0, d.c.Fail("", wire.ErrOverflow.WithRule("gguf.shape-overflow").Errorf("product of the dimensions %v", dims))
	}
	if err := d.c.Skip(uint64(n * width)); err != nil {
		return 0, err
	}
	for i := range n {
		if d.trace != nil {
			at := d.c.Off() - int64((n-i)*width)
			d.trace.add(at, at+int64(width), "dimension", dims[n-1-i])
		}
	}
	d.dims = d.dims[:len(d.dims)+n]
	info.Shape = dims
	if zero {
		return 0, nil
	}
	return product, nil
}

// dimension returns the i-th dimension stored in p.
func (d *decoder) dimension(p []byte, i int) uint64 {
	if d.out.version == 1 {
		return uint64(d.c.Order.Uint32(p[4*i:]))
	}
	return d.c.Order.Uint64(p[8*i:])
}

// typed computes the size of the data from the type, which is at the cursor. Rows are
// whole blocks. An unknown type has no size yet.
func (d *decoder) typed(info *tensor.Info, t Type, elements uint64) error {
	info.DType = t.DType()
	if info.DType == tensor.Unknown {
		if t != d.lastType || d.lastName == "" {
			d.lastType, d.lastName = t, t.String()
			if err := d.b.Hold(int64(len(d.lastName))); err != nil {
				return err
			}
		}
		info.Stored = d.lastName
		return nil
	}
	info.Stored = types[t].name
	g, _ := info.DType.Geometry()
	blocks := elements
	if g.Elems > 1 {
		row := uint64(1)
		if n := len(info.Shape); n > 0 {
			row = uint64(info.Shape[n-1])
		}
		if row&(uint64(g.Elems)-1) != 0 { // Elems is a power of two for every type of ggml
			return d.c.Fail("", wire.ErrRange.WithRule("gguf.blocks").Errorf("rows of %d elements are not whole blocks of %d (%s)", row, g.Elems, info.Stored))
		}
		blocks >>= bits.TrailingZeros32(g.Elems)
	}
	size, ok := wire.Mul(blocks, uint64(g.Bytes))
	if !ok {
		return d.c.Fail("", wire.ErrOverflow.WithRule("gguf.shape-overflow").Errorf("%d elements of %s", elements, info.Stored))
	}
	info.Span.Len = int64(size)
	if g.Elems > 1 { // a decoded element of a block takes at most 4 bytes
		size = min(elements, math.MaxInt64/4) * 4
	}
	d.expanded = min(d.expanded+size, math.MaxInt64)
	return nil
}
