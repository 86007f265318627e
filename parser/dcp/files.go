package dcp

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// readFiles opens the files, and proves that they consist of the parts and of nothing else.
func (d *decoder) readFiles() error {
	err := limits.Sort(d.b, d.places, func(x, y place) int { return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.off, y.off)) })
	if err != nil {
		return err
	}
	at := 0
	for file := range d.out.files {
		end := at
		for end < len(d.places) && int(d.places[end].file) == file {
			end++
		}
		if err := d.readFile(int32(file), d.places[at:end]); err != nil {
			return inFile(d.out.files[file], err)
		}
		at = end
	}
	return nil
}

// fileCost is the memory of an open file.
const fileCost = 512

func (d *decoder) readFile(file int32, places []place) error {
	if err := d.hold(fileCost); err != nil {
		return err
	}
	h, err := tensor.OpenFile(d.fsys, path.Join(d.dir, d.out.files[file]))
	if err != nil {
		return wire.At(Format, "", wire.NoOffset, missingFile(err))
	}
	if d.out.handles, err = limits.Append(d.b, d.out.handles, h); err != nil {
		h.Close()
		return err
	}
	if err := d.b.Source(h.Size); err != nil {
		return err
	}
	next := int64(0)
	for i := range places {
		p := &places[i]
		if err := d.steps.Step(); err != nil {
			return err
		}
		switch {
		case p.off > h.Size || p.length > h.Size-p.off:
			return d.fail("", h.Size, wire.ErrTruncated.Errorf("%d bytes, and a part has %d at offset %d", h.Size, p.length, p.off))
		case p.off < next:
			return d.fail("", p.off, errFileOver.Errorf("a part begins before the end of the one before, which is at %d", next))
		case p.off > next:
			return d.fail("", next, errFileGap.Errorf("%d bytes are part of nothing", p.off-next))
		}
		if err := d.readPart(h, p); err != nil {
			return err
		}
		next = p.off + p.length
	}
	if next < h.Size {
		return d.fail("", next, errFileGap.Errorf("%d bytes after the last part", h.Size-next))
	}
	return nil
}

// missingFile says that a file which is not there is a missing part of the checkpoint.
func missingFile(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return wire.ErrMissing.WithRule("dcp.file-missing").Errorf("no such file in the folder")
	}
	return err
}

// inFile puts the name of a file before the place of an error.
func inFile(name string, err error) error {
	at, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return wire.At(Format, "file "+wire.Quote(name), wire.NoOffset, err)
	}
	where := "file " + wire.Quote(name)
	if at.Where != "" {
		where += ", " + at.Where
	}
	return &wire.Error{Format: formatOf(at), Where: where, Off: at.Off, Err: at.Err}
}

// formatOf is the format of an error in a part: that of what a pickle asks for stays, since its rules are.
func formatOf(e *wire.Error) string {
	if e.Format == vm.Format {
		return vm.Format
	}
	return Format
}

// readPart proves a part of a file.
func (d *decoder) readPart(r io.ReaderAt, p *place) error {
	it := &d.items[p.item]
	section := io.NewSectionReader(r, p.off, p.length)
	if it.stored == "" {
		f, err := pth.Decode(d.b, section, p.length)
		if err == nil {
			err = d.archived(f)
		}
		if err != nil {
			return moved(it.name, p.off, err)
		}
		it.value = f
		return d.keepValue(it, p, f)
	}
	b := d.b.Probe()
	defer b.Close()
	f, err := pth.Decode(b, section, p.length)
	if err == nil {
		err = d.archived(f)
	}
	if err != nil {
		return moved(it.name, p.off, err)
	}
	c := it.part(p.chunk)
	if err := d.tensorPart(it, c, f); err != nil {
		return d.fail(whereOf(it.name), p.off, err)
	}
	c.info.Span.Off += p.off
	c.file = p.file
	return d.noted(it.name, p.off, f)
}

// part returns a part of a tensor by its number in a place.
func (it *item) part(n int32) *chunk {
	if n < 0 {
		return &it.empty[none-1-n]
	}
	return &it.chunks[n]
}

// archived proves that the library wrote a part: it always makes an archive.
func (d *decoder) archived(f *pth.File) error {
	if f.Layout() != pth.Archive {
		return wire.At(Format, "", 0, errForm.Errorf("a part that is not an archive of torch.save"))
	}
	return nil
}

// moved gives an error about a part its place in the file. A longer file would not make the part longer.
func moved(name string, off int64, err error) error {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return wire.At(Format, whereOf(name), off, err)
	}
	where := whereOf(name)
	if e.Where != "" {
		where += ", " + e.Where
	}
	at := off
	if e.Off >= 0 {
		at += e.Off
	}
	cause := e.Err
	if wire.ClassOf(err) == wire.Truncated {
		cause = wire.ErrSyntax.WithRule("dcp.item-cut").Errorf("the part ends within what torch.save wrote")
	}
	return &wire.Error{Format: formatOf(e), Where: where, Off: at, Err: cause}
}

// tensorPart proves that a part is one tensor of the type and shape that .metadata states.
func (d *decoder) tensorPart(it *item, c *chunk, f *pth.File) error {
	if len(f.Infos) != 1 || f.Infos[0].Name != "tensor" {
		return errItem.Errorf("its part is not one tensor")
	}
	info := f.Infos[0]
	_, whole := f.At(info)
	g, known := info.DType.Geometry()
	switch {
	case !whole, !known, g.Elems != 1:
		return errForm.Errorf("a part of type %s that is not stored element by element", wire.Quote(info.Stored))
	case info.Stored != it.stored:
		return errItem.Errorf("it has type %s, and .metadata states %s", wire.Quote(info.Stored), wire.Quote(it.stored))
	case !slices.Equal(info.Shape, c.Sizes):
		return errItem.Errorf("its part has shape %v, and .metadata states %v", info.Shape, c.Sizes)
	}
	var err error
	if info.Strides != nil {
		if info.Strides, err = limits.Clone(d.b, info.Strides); err != nil {
			return err
		}
	}
	info.Name, info.Stored, info.Storage, info.Shape = it.name, it.stored, "", c.Sizes
	c.info = info
	return nil
}

// noted keeps the findings about a part.
func (d *decoder) noted(name string, off int64, f *pth.File) error {
	for _, found := range f.Findings() {
		if found.Where = strings.TrimSuffix(whereOf(name)+", "+found.Where, ", "); found.Off >= 0 {
			found.Off += off
		}
		if err := d.out.Found.Add(d.b, Format, found); err != nil {
			return err
		}
	}
	return nil
}

// keepValue keeps a value, and the tensors inside of it.
func (d *decoder) keepValue(it *item, p *place, f *pth.File) error {
	for i := range f.Infos {
		info := &f.Infos[i]
		if _, direct := f.At(*info); !direct {
			return d.fail(whereOf(it.name), p.off, errForm.Errorf("a tensor in a value that is not stored as it is"))
		}
		info.Span.Off += p.off
		info.Part = p.file
	}
	return d.noted(it.name, p.off, f)
}
