package tfbundle

import (
	"cmp"
	"path"

	"github.com/anamnesis-go/anamnesis/internal/grid"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// files opens the files, and proves that they consist of the tensors and of nothing else.
func (d *decoder) files() error {
	list, err := limits.Make[*entry](d.b, len(d.entries))
	if err != nil {
		return err
	}
	list = list[:0]
	for i := range d.entries {
		if err := d.steps.Step(); err != nil {
			return err
		}
		if e := &d.entries[i]; len(e.slices) == 0 {
			list = append(list, e)
		}
	}
	err = limits.Sort(d.b, list, func(x, y *entry) int {
		return cmp.Or(cmp.Compare(x.shard, y.shard), cmp.Compare(x.off, y.off), cmp.Compare(x.size, y.size))
	})
	if err != nil {
		return err
	}
	for shard := range d.shards {
		n := 0
		for n < len(list) && list[n].shard == shard {
			n++
		}
		if err := d.file(shard, list[:n]); err != nil {
			return inFile(d.shardName(shard), err)
		}
		list = list[n:]
	}
	return nil
}

// file opens a file, in which tensors follow each other.
func (d *decoder) file(shard int64, list []*entry) error {
	if err := d.hold(fileCost); err != nil {
		return err
	}
	name := d.shardName(shard)
	h, err := tensor.OpenFile(d.fsys, path.Join(d.dir, name))
	if err != nil {
		return missing(err)
	}
	if d.out.handles, err = limits.Append(d.b, d.out.handles, h); err != nil {
		h.Close()
		return err
	}
	if d.out.names, err = limits.Append(d.b, d.out.names, name); err != nil {
		return err
	}
	if err := d.b.Source(h.Size); err != nil {
		return err
	}
	next := int64(0)
	for _, e := range list {
		if err := d.steps.Step(); err != nil {
			return err
		}
		switch {
		case e.off > h.Size || e.size > h.Size-e.off:
			return fail(whereOf(e.name), h.Size, wire.ErrTruncated.Errorf("%d bytes, and it has %d at offset %d", h.Size, e.size, e.off))
		case e.off < next:
			return fail(whereOf(e.name), e.off, errOverlap.Errorf("it begins before the end of another tensor, which is at %d", next))
		case e.off > next:
			return fail("", next, errGap.Errorf("%d bytes are part of no tensor", e.off-next))
		}
		next = e.off + e.size
	}
	if next < h.Size {
		return fail("", next, errGap.Errorf("%d bytes after the last tensor", h.Size-next))
	}
	return nil
}

// list lists the tensors, and the texts.
func (d *decoder) list() (err error) {
	f := d.out
	f.entries, f.order, f.inPieces = d.entries, d.order, map[string]int{}
	next := 0 // of the variables
	for i := range f.entries {
		e := &f.entries[i]
		if err := d.steps.Step(); err != nil {
			return err
		}
		switch t := &types[e.dtype]; {
		case e.part:
		case t.width == 0:
			f.texts, err = limits.Append(d.b, f.texts, int32(i))
		default:
			err = d.listTensor(e, t, &next)
		}
		if err != nil {
			return fail(whereOf(e.name), e.at, err)
		}
	}
	return nil
}

// listTensor lists a tensor. next counts the variables in parts.
func (d *decoder) listTensor(e *entry, t *storedType, next *int) error {
	info := tensor.Info{Name: e.name, Stored: t.name, DType: t.dtype, Shape: e.shape, Part: int32(e.shard), Span: tensor.Span{Off: e.off, Len: e.size}}
	if t.width > 1 {
		info.Order = d.order
	}
	if len(e.slices) == 0 {
		return d.add(info)
	}
	f := d.out
	v := &f.variables[*next]
	info.Span = tensor.Span{Len: info.Elements() * t.width}
	switch {
	case v.grid != nil:
		if err := d.hold(partCost); err != nil {
			return err
		}
		f.inPieces[e.name] = *next
		info.Part = int32(f.entries[v.parts[0].of].shard)
	case len(v.parts) == 1: // the others are empty
		one := &f.entries[v.parts[0].of]
		info.Part, info.Span.Off = int32(one.shard), one.off
	}
	*next++
	return d.add(info)
}

func (d *decoder) add(info tensor.Info) (err error) {
	if err = d.b.Expand(info.Span.Len); err != nil {
		return err
	}
	d.out.Infos, err = limits.Append(d.b, d.out.Infos, info)
	return err
}

// inParts returns the variable of a tensor that is in several parts, or nil.
func (f *File) inParts(name string) *variable {
	if i, ok := f.inPieces[name]; ok {
		return &f.variables[i]
	}
	return nil
}

// stored says where a part is.
func (f *File) stored(v *variable, k int32) grid.Stored {
	p := &v.parts[k]
	e := &f.entries[p.of]
	return grid.Stored{Part: &p.Part, R: f.handles[e.shard], Off: e.off}
}
