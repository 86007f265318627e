package gguf

import (
	"math"
	"slices"

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

// align finds the alignment, and makes room for the tensors.
func (d *decoder) align() error {
	f := d.out
	f.alignment = DefaultAlignment
	if i, ok := d.names.Find(alignKey); ok {
		p := &f.pairs[i]
		if p.kind != KindU32 {
			return d.c.FailAt(place("key", i, p.key), p.off, wire.ErrMismatch.With("is %v and must be u32", p.kind))
		}
		if p.num == 0 || p.num&(p.num-1) != 0 {
			return d.c.FailAt(place("key", i, p.key), p.body.Off, wire.ErrAlign.With("%d is no power of two", p.num))
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

// A row is what the table says of a tensor and tensor.Info does not.
type row struct {
	off    int64  // of the description in the file
	offset uint64 // of the data, as stated
	typ    Type
	dims   uint8
}

// offsetAt is where the row states the offset of its data.
func (f *File) offsetAt(i int) int64 {
	r := &f.rows[i]
	dim := int64(8)
	if f.version == 1 {
		dim = 4
	}
	return r.off + int64(f.width()) + int64(len(f.Infos[i].Name)) + 4 + int64(r.dims)*dim + 4
}

// tensor reads one row of the table.
func (d *decoder) tensor() error {
	f := d.out
	i := len(f.Infos)
	r := row{off: d.c.Off()}
	if d.trace != nil {
		d.trace.head("tensor %d", i)
	}
	info := tensor.Info{Order: f.order}
	var err error
	if info.Name, err = d.text("name", MaxNameBytes, false); err != nil {
		return within(place("tensor", i, ""), d.c.Off(), err)
	}
	if err := d.describe(&r, &info); err != nil {
		return within(place("tensor", i, info.Name), d.c.Off(), err)
	}
	if f.Infos, err = limits.Append(d.b, f.Infos, info); err != nil {
		return within(place("tensor", i, info.Name), r.off, err)
	}
	if f.rows, err = limits.Append(d.b, f.rows, r); err != nil {
		return within(place("tensor", i, info.Name), r.off, err)
	}
	earlier, added, err := d.names.Add(i)
	if err != nil {
		return within(place("tensor", i, info.Name), r.off, err)
	}
	if !added {
		return d.c.FailAt(place("tensor", i, info.Name), r.off, wire.ErrDuplicate.With("tensor %d has the same name", earlier))
	}
	if len(f.Infos) == d.tensors {
		d.stage = stSpans
	}
	return nil
}

// describe reads dimensions, type and offset, and the size that follows.
func (d *decoder) describe(r *row, info *tensor.Info) error {
	at := d.c.Off()
	n, err := d.c.U32()
	if err != nil {
		return err
	}
	if n > MaxDims {
		return d.c.FailAt("", at, wire.ErrRange.With("%d dimensions; ggml has at most %d", n, MaxDims))
	}
	d.mark("number of dimensions", 4, n)
	r.dims = uint8(n)
	if err := d.shape(info, int(n)); err != nil {
		return err
	}
	at = d.c.Off()
	t, err := d.c.U32()
	if err != nil {
		return err
	}
	r.typ = Type(t)
	d.mark("type", 4, r.typ)
	if err := d.typed(info, r.typ, at); err != nil {
		return err
	}
	if r.offset, err = d.c.U64(); err != nil {
		return err
	}
	if d.trace != nil {
		d.mark("offset", 8, r.offset)
	}
	return nil
}

// shape reads the dimensions, which ggml writes innermost first, and proves
// that their product fits. A zero among them does not excuse the others: ggml
// multiplies them without it.
func (d *decoder) shape(info *tensor.Info, n int) error {
	at := d.c.Off()
	if cap(d.dims)-len(d.dims) < n {
		room, err := limits.Make[int64](d.b, MaxDims*min(d.tensors-len(d.out.Infos), 1<<10))
		if err != nil {
			return err
		}
		d.dims = room[:0]
	}
	start := len(d.dims)
	product, ok := uint64(1), true
	for range n {
		from := d.c.Off()
		v, err := d.length("dimension")
		if err != nil {
			return err
		}
		if v > math.MaxInt64 {
			return d.c.FailAt("", from, wire.ErrRange.With("dimension %d", v))
		}
		if ok && v != 0 {
			product, ok = wire.Mul(product, v)
		}
		d.dims = append(d.dims, int64(v))
	}
	if !ok {
		return d.c.FailAt("", at, wire.ErrOverflow.With("product of the dimensions %v", d.dims[start:]))
	}
	info.Shape = d.dims[start:len(d.dims):len(d.dims)]
	slices.Reverse(info.Shape)
	return nil
}

// typed finds the type's geometry and the size of the data. Rows are whole
// blocks. A type that is not known here has no size yet.
func (d *decoder) typed(info *tensor.Info, t Type, at int64) error {
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
	row := uint64(1)
	if n := len(info.Shape); n > 0 {
		row = uint64(info.Shape[n-1])
	}
	if row%uint64(g.Elems) != 0 {
		return d.c.FailAt("", at, wire.ErrRange.With("rows of %d elements are no whole blocks of %d (%s)", row, g.Elems, info.Stored))
	}
	size, ok := g.Size(uint64(info.Elements()))
	if !ok {
		return d.c.FailAt("", at, wire.ErrOverflow.With("%d elements of %s", info.Elements(), info.Stored))
	}
	info.Span.Len = int64(size)
	return nil
}
