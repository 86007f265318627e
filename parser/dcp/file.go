package dcp

import (
	"errors"
	"io"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/grid"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A File is a checkpoint whose parts have been proven.
type File struct {
	tensor.File

	files   []string
	handles []*tensor.Handle
	parts   map[string]*item // tensors of several parts, by name
	items   []item
	places  []place
	values  []value
	trained []string // how the names of optimizers' states begin
}

// A value is an entry that is not a tensor.
type value struct {
	name string
	file *pth.File
}

// list lists the tensors in the order of .metadata.
func (d *decoder) list() error {
	f := d.out
	f.items, f.places, f.parts = d.items, d.places, map[string]*item{}
	names, err := wire.NewNameSet(d.b, len(d.items), func(i int) string { return f.Infos[i].Name })
	if err != nil {
		return d.fail("", wire.NoOffset, err)
	}
	for i := range f.items {
		it := &f.items[i]
		if it.value != nil {
			err = d.listValue(it, names)
		} else {
			err = d.listTensor(it, names)
		}
		if err != nil {
			return d.fail(whereOf(it.name), it.at, err)
		}
	}
	return d.optimizers()
}

// listTensor lists a tensor: where its only part has it, or put together.
func (d *decoder) listTensor(it *item, names *wire.NameSet) error {
	parts := it.chunks
	if it.count == 0 {
		parts = it.empty
	}
	var info tensor.Info
	switch {
	case len(it.chunks) > 1:
		first := it.chunks[0].info
		g, _ := first.DType.Geometry()
		size, ok := wire.Mul(uint64(it.count), uint64(g.Bytes))
		if !ok || size > 1<<63-1 {
			return wire.ErrInternal.Errorf("shape %v, of which every part is in a file", it.shape)
		}
		info = tensor.Info{Stored: it.stored, DType: first.DType, Order: first.Order, Span: tensor.Span{Len: int64(size)}, Part: it.chunks[0].file}
		if err := d.hold(placeCost); err != nil {
			return err
		}
		for i := range it.chunks {
			if err := d.steps.Step(); err != nil {
				return err
			}
			if it.chunks[i].info.Order != first.Order {
				return errForm.Errorf("parts in two byte orders")
			}
		}
		d.out.parts[it.name] = it
	case len(parts) > 0:
		info, info.Part = parts[0].info, parts[0].file
	default:
		return errGap.Errorf("it has no part, which would say where it is")
	}
	info.Name, info.Shape = it.name, it.shape
	return d.add(info, names)
}

func (d *decoder) add(info tensor.Info, names *wire.NameSet) (err error) {
	if err = d.b.Items(1); err != nil {
		return err
	}
	if err = d.b.Expand(info.Bytes()); err != nil {
		return err
	}
	if d.out.Infos, err = limits.Append(d.b, d.out.Infos, info); err != nil {
		return err
	}
	if _, added, err := names.Add(len(d.out.Infos) - 1); err != nil || added {
		return err
	}
	return errName.Errorf("two tensors are called %s", wire.Quote(info.Name))
}

// listValue lists the tensors in a value, and keeps the value.
func (d *decoder) listValue(it *item, names *wire.NameSet) error {
	for _, info := range it.value.Infos {
		name := it.name
		if isContainer(it.value) {
			name += "." + info.Name
		}
		var err error
		if info.Name, err = limits.String(d.b, []byte(name)); err != nil {
			return err
		}
		info.Storage = ""
		if err := d.add(info, names); err != nil {
			return err
		}
	}
	var err error
	d.out.values, err = limits.Append(d.b, d.out.values, value{it.name, it.value})
	return err
}

// isContainer reports whether a value has parts with names of their own.
func isContainer(f *pth.File) bool {
	switch root := f.Graph().Root(); root.Kind() {
	case vm.KindTuple, vm.KindList, vm.KindSet, vm.KindDict:
		return root.Len() > 0
	case vm.KindObject:
		return root.Is(vm.Namespace)
	}
	return false
}

// FileNames lists the files with the parts, in the order of [tensor.Info.Part].
func (f *File) FileNames() []string { return f.files }

// IndexName returns the name of the file that describes the checkpoint.
func (f *File) IndexName() string { return Index }

// Meta lists the values that are not tensors, under the names of the library. Values are those of package pth.
func (f *File) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, v := range f.values {
			for key, one := range v.file.Meta() {
				name := v.name
				if isContainer(v.file) {
					name += "." + key
				}
				if !yield(name, one) {
					return
				}
			}
		}
	}
}

// At returns random access to a tensor in one part; ok is false for one of several.
func (f *File) At(i tensor.Info) (io.ReaderAt, bool) {
	if f.parts[i.Name] != nil {
		return nil, false
	}
	return io.NewSectionReader(f.handles[i.Part], i.Span.Off, i.Span.Len), true
}

// Body reads a tensor's bytes in order.
func (f *File) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	it := f.parts[i.Name]
	if it == nil {
		one := tensor.File{Name: Format, Source: f.handles[i.Part]}
		return one.Body(b, i)
	}
	g, _ := i.DType.Geometry()
	part := func(k int32) grid.Stored {
		c := &it.chunks[k]
		return grid.Stored{Part: &c.Part, R: f.handles[c.file], Off: c.info.Span.Off, Strides: c.info.Strides, First: c.info.Offset}
	}
	return &grid.Body{
		Grid: it.grid, Shape: it.shape, Elem: int64(g.Bytes), Size: i.Span.Len, Part: part, Budget: b,
		Fail: func(err error) error { return wire.At(Format, whereOf(it.name), wire.NoOffset, err) },
	}, nil
}

// Verify reads every part: checksums, and what the numbers of sparse tensors in values mean.
func (f *File) Verify(b *limits.Budget) error {
	for i := range f.places {
		if err := f.verifyPart(b, &f.places[i]); err != nil {
			return inFile(f.files[f.places[i].file], err)
		}
	}
	return nil
}

func (f *File) verifyPart(b *limits.Budget, p *place) error {
	b = b.Probe()
	defer b.Close()
	name := f.items[p.item].name
	m, err := pth.Decode(b, io.NewSectionReader(f.handles[p.file], p.off, p.length), p.length)
	if err == nil {
		err = m.Verify(b)
	}
	if err != nil {
		return moved(name, p.off, err)
	}
	return nil
}

// Close closes the files.
func (f *File) Close() error {
	err := tensor.CloseAll(f.handles)
	f.handles = nil
	return errors.Join(err, f.File.Close())
}
