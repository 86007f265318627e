package deepspeed

import (
	"errors"
	"io"
	"iter"
	"path"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A File is a checkpoint whose files have been proven.
type File struct {
	tensor.File

	index   string // latest, or ""
	files   []string
	handles []*tensor.Handle
	sources map[string]*source
	meta    []entry
}

// An entry is a statement of the checkpoint about itself.
type entry struct {
	key   string
	value any
}

// FileNames lists the files, in the order of [tensor.Info.Part].
func (f *File) FileNames() []string { return f.files }

// IndexName returns the name of the file that names the folder, "" if it was not asked.
func (f *File) IndexName() string { return f.index }

// Meta lists the stage of ZeRO, the number of processes, and what the first process states of
// its step and of the version of DeepSpeed.
func (f *File) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, e := range f.meta {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

// At returns random access to a tensor that one file has in one piece, in its own type.
func (f *File) At(i tensor.Info) (io.ReaderAt, bool) {
	s := f.sources[i.Name]
	switch {
	case s == nil || s.widen != nil:
		return nil, false
	case i.Span.Len == 0:
		return io.NewSectionReader(f.handles[i.Part], 0, 0), true
	}
	p, first, count := s.run(0)
	if count*s.size < i.Span.Len {
		return nil, false
	}
	return io.NewSectionReader(f.handles[p.file], p.off+first*s.size, i.Span.Len), true
}

// Body reads a tensor's bytes in order.
func (f *File) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	s := f.sources[i.Name]
	if s == nil {
		return nil, wire.At(Format, whereOf(i.Name), wire.NoOffset, wire.ErrUsage.Errorf("no tensor of this checkpoint"))
	}
	return &body{f: f, b: b, s: s, name: i.Name, left: i.Elements() * s.made()}, nil
}

// Verify reads every file: checksums, and what the numbers of sparse tensors mean.
func (f *File) Verify(b *limits.Budget) error {
	for i, h := range f.handles {
		if err := verifyFile(b, h); err != nil {
			return inFile(f.files[i], err)
		}
	}
	return nil
}

func verifyFile(b *limits.Budget, h *tensor.Handle) error {
	b = b.Probe()
	defer b.Close()
	m, err := pth.Decode(b, h, h.Size)
	if err != nil {
		return err
	}
	return m.Verify(b)
}

// Close closes the files.
func (f *File) Close() error {
	err := tensor.CloseAll(f.handles)
	f.handles = nil
	return errors.Join(err, f.File.Close())
}

// inFile puts the name of a file before the place of an error.
func inFile(name string, err error) error {
	where := "file " + wire.Quote(path.Base(name))
	at, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return wire.At(Format, where, wire.NoOffset, err)
	}
	if at.Where != "" {
		where += ", " + at.Where
	}
	return &wire.Error{Format: at.Format, Where: where, Off: at.Off, Err: at.Err}
}
