package onnx

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"iter"
	"path"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/narrow"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A File is a model whose structure has been proven.
type File struct {
	tensor.File

	// Elements and Stored sum up all tensors; Stored counts bytes in the file and outside.
	Elements, Stored int64
	// External are the files with external data, below the model's folder.
	External []string

	size    int64
	entries []entry
	index   *wire.NameSet // names of the tensors
	meta    []pair
	outside []*tensor.Handle            // of External, once attached
	coded   map[string]tensor.Quantized // by the name of the codes

	attached bool
}

// A pair is a key and a value of the metadata.
type pair struct {
	key   string
	value any
}

// Meta lists the model's description of itself: versions and origin under "onnx.", then its
// metadata_props under their own keys.
func (f *File) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, p := range f.meta {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

// Outside returns [File.External] as long as these files are not attached.
func (f *File) Outside() []string { return f.External[len(f.outside):] }

// Attach opens the files with external data in the model's folder, and proves that each
// tensor's data lie in them. Tensors may share data wholly, not in part.
func (f *File) Attach(b *limits.Budget, folder fs.FS) error {
	f.attached = true
	for _, name := range f.Outside() {
		h, err := tensor.OpenFile(folder, path.Clean(name))
		if errors.Is(err, fs.ErrNotExist) {
			err = wire.ErrMissing.WithRule("onnx.external-missing").Errorf("there is no file %s beside the model", wire.Quote(name))
		}
		if err != nil {
			return wire.At(Format, "external data", wire.NoOffset, err)
		}
		f.outside = append(f.outside, h)
		b.Source(h.Size)
	}
	var all []*shared
	steps := b.Steps()
	for i := range f.entries {
		for part, e := range f.entries[i].parts() {
			if err := steps.Step(); err != nil {
				return wire.At(Format, "", e.at, err)
			}
			if e.place != external || e.file < 0 {
				continue
			}
			err := f.inside(b, e)
			if err == nil {
				all, err = limits.Append(b, all, &shared{e: e, at: i, alone: part == 0})
			}
			if err != nil {
				return wire.At(Format, "tensor "+wire.Quote(f.Infos[i].Name), e.at, err)
			}
		}
	}
	return f.share(b, all)
}

// parts yields an entry, or the two of which a sparse one is made.
func (e *entry) parts() iter.Seq2[int, *entry] {
	return func(yield func(int, *entry) bool) {
		if e.place != sparse {
			yield(0, e)
		} else if yield(1, &e.values[0]) {
			yield(2, &e.values[1])
		}
	}
}

// inside proves that a range lies in its file.
func (f *File) inside(b *limits.Budget, e *entry) error {
	if size := f.outside[e.file].Size; e.span.End() > size {
		return wire.ErrRange.WithRule("onnx.external-short").Errorf("%d bytes at %#x of %s, which has %d", e.span.Len, e.span.Off, wire.Quote(f.External[e.file]), size)
	}
	return b.Expand(e.span.Len)
}

// A shared is a range of external data that tensors may share.
type shared struct {
	e     *entry
	at    int  // of the tensor
	alone bool // the range is the whole tensor
}

// share finds the tensors that share data, and refuses ranges that overlap in part.
func (f *File) share(b *limits.Budget, all []*shared) error {
	err := limits.Sort(b, all, func(x, y *shared) int {
		return cmp.Or(cmp.Compare(x.e.file, y.e.file), cmp.Compare(x.e.span.Off, y.e.span.Off), cmp.Compare(x.e.span.Len, y.e.span.Len), cmp.Compare(x.at, y.at))
	})
	if err != nil {
		return wire.At(Format, "", wire.NoOffset, err)
	}
	for i := 1; i < len(all); i++ {
		x, y := all[i-1], all[i]
		switch {
		case x.e.file != y.e.file || x.e.span.End() <= y.e.span.Off || y.e.span.Len == 0 || x.e.span.Len == 0:
		case x.e.span != y.e.span:
			return wire.At(Format, "tensor "+wire.Quote(f.Infos[y.at].Name), y.e.at, wire.ErrOverlap.WithRule("onnx.external-overlap").Errorf("its data overlap those of %s in part", wire.Quote(f.Infos[x.at].Name)))
		case x.alone && y.alone && x.e.typ == y.e.typ && f.Infos[x.at].Bytes() == x.e.span.Len:
			if err := f.joint(b, x, y); err != nil {
				return wire.At(Format, "tensor "+wire.Quote(f.Infos[y.at].Name), y.e.at, err)
			}
		}
	}
	return nil
}

// joint returns the finding that two tensors share a storage.
func (f *File) joint(b *limits.Budget, x, y *shared) error {
	if f.Infos[x.at].Storage == "" {
		name := f.External[x.e.file] + "@" + strconv.FormatInt(x.e.span.Off, 10)
		if err := b.Hold(int64(len(name))); err != nil {
			return err
		}
		f.Infos[x.at].Storage = name
	}
	f.Infos[y.at].Storage = f.Infos[x.at].Storage
	return nil
}

// find returns the tensor of this name.
func (f *File) find(name string) *entry {
	if k, ok := f.index.Find(name); ok {
		return &f.entries[k]
	}
	return nil
}

// source returns the file in which a range lies.
func (f *File) source(e *entry) (io.ReaderAt, error) {
	switch {
	case e.place != external:
		return f.Source, nil
	case e.file < 0:
		return nil, wire.At(Format, "external data", e.at, wire.ErrForbidden.WithRule("file.path-escape").Errorf("the data lie outside of the model's folder"))
	case int(e.file) >= len(f.outside):
		return nil, wire.At(Format, "external data", e.at, wire.ErrMissing.WithRule("onnx.external-missing").Errorf("the data lie in %s: open the model by its path", wire.Quote(f.External[e.file])))
	}
	return f.outside[e.file], nil
}

// At returns random access to the bytes of a tensor that are stored as they are read.
func (f *File) At(i tensor.Info) (io.ReaderAt, bool) {
	e := f.find(i.Name)
	if e == nil || !e.direct() {
		return nil, false
	}
	src, err := f.source(e)
	if err != nil {
		return nil, false
	}
	return io.NewSectionReader(src, e.span.Off, e.span.Len), true
}

// Body reads a tensor's elements in order, whatever they are stored as.
func (f *File) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	where := "tensor " + wire.Quote(i.Name)
	e := f.find(i.Name)
	if e == nil {
		return nil, wire.At(Format, where, wire.NoOffset, wire.ErrMissing.Errorf("no such tensor"))
	}
	if err := tensor.Readable(Format, &i); err != nil {
		return nil, err
	}
	held := b.Holding()
	r, err := f.open(held, e)
	if err != nil {
		held.Close()
		return nil, wire.At(Format, where, e.at, err)
	}
	return &narrow.Body{Reader: r, Held: held, Format: Format, Where: where}, nil
}

// missing reports data in a file that is not attached.
func (f *File) missing(e *entry) bool {
	return e.place == external && (e.file < 0 || int(e.file) >= len(f.outside))
}

// Verify reads sparse tensors: their indices must be in order. Once the folder is attached, it
// refuses data outside of the folder, because it is not read; before, a finding says where the data
// is.
func (f *File) Verify(b *limits.Budget) error {
	for i := range f.entries {
		if e := &f.entries[i]; f.attached && e.place == external && e.file < 0 {
			_, err := f.source(e)
			return err
		}
		if e := &f.entries[i]; e.place != sparse || f.missing(&e.values[0]) || f.missing(&e.values[1]) {
			continue
		}
		r, err := f.Body(b, f.Infos[i])
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, r)
		r.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Close closes the files with external data too.
func (f *File) Close() error {
	errs := []error{f.File.Close()}
	for _, h := range f.outside {
		errs = append(errs, h.Close())
	}
	return errors.Join(errs...)
}
