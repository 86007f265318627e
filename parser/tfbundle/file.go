package tfbundle

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/grid"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A File is a checkpoint whose index and files have been proven.
type File struct {
	tensor.File

	index     string
	names     []string
	handles   []*tensor.Handle
	order     tensor.Order
	producer  int64
	entries   []entry
	variables []variable
	inPieces  map[string]int // in variables, of tensors in several parts
	texts     []int32        // in entries
}

// FileNames lists the files with the numbers, in the order of [tensor.Info.Part].
func (f *File) FileNames() []string { return f.names }

// IndexName returns the name of the file that lists the tensors.
func (f *File) IndexName() string { return f.index }

// Meta lists the version of the writer, and the texts by name: how many there are, and in how many bytes.
func (f *File) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if !yield("version", f.producer) {
			return
		}
		for _, i := range f.texts {
			e := &f.entries[i]
			n, _ := wire.Product(e.shape)
			if !yield(e.name, fmt.Sprintf("texts: %d in %d bytes", n, e.size)) {
				return
			}
		}
	}
}

// At returns random access to a tensor in one part; ok is false for one of several.
func (f *File) At(i tensor.Info) (io.ReaderAt, bool) {
	if f.inParts(i.Name) != nil {
		return nil, false
	}
	return io.NewSectionReader(f.handles[i.Part], i.Span.Off, i.Span.Len), true
}

// Body reads a tensor's bytes in order.
func (f *File) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	v := f.inParts(i.Name)
	if v == nil {
		one := tensor.File{Name: Format, Source: f.handles[i.Part]}
		return one.Body(b, i)
	}
	if err := tensor.Readable(Format, &i); err != nil {
		return nil, err
	}
	e := &f.entries[v.at]
	return &grid.Body{
		Grid: v.grid, Shape: e.shape, Elem: types[e.dtype].width, Size: i.Span.Len, Budget: b,
		Part: func(k int32) grid.Stored { return f.stored(v, k) },
		Fail: func(err error) error { return wire.At(Format, whereOf(i.Name), wire.NoOffset, err) },
	}, nil
}

// Close closes the files.
func (f *File) Close() error {
	err := tensor.CloseAll(f.handles)
	f.handles = nil
	return errors.Join(err, f.File.Close())
}
