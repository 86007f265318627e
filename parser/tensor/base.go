package tensor

import (
	"io"
	"io/fs"
	"iter"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// File is the part of a Model that every single-file container shares: embed
// it, fill Infos once every span is proven, add Meta.
type File struct {
	Name   string // the format's name
	Source io.ReaderAt
	Infos  []Info
	Found  Findings
	Folder fs.FS     // sibling files, or nil
	Closer io.Closer // what Close closes, or nil

	pieces int // number of files of the set it belongs to; 0 for none
	beside func(*limits.Budget, func(file string, m Model) error) error

	keeper
}

// Format returns the container's name.
func (f *File) Format() string { return f.Name }

// Len returns the number of tensors.
func (f *File) Len() int { return len(f.Infos) }

// Tensors lists the tensors in file order.
func (f *File) Tensors() iter.Seq[Info] { return slices.Values(f.Infos) }

// Meta is empty unless the format has metadata.
func (f *File) Meta() iter.Seq2[string, any] { return func(func(string, any) bool) {} }

// Findings lists the findings.
func (f *File) Findings() []Finding { return f.Found.All() }

// Configs returns the sibling files.
func (f *File) Configs() fs.FS {
	if f.Folder == nil {
		return noFiles{}
	}
	return f.Folder
}

// At returns random access to the tensor's bytes.
func (f *File) At(i Info) (io.ReaderAt, bool) {
	return io.NewSectionReader(f.Source, i.Span.Off, i.Span.Len), true
}

// Body reads the tensor's bytes in order.
func (f *File) Body(b *limits.Budget, i Info) (io.ReadCloser, error) {
	if err := Readable(f.Name, &i); err != nil {
		return nil, err
	}
	return &body{r: f.Source, b: b, format: f.Name, name: i.Name, off: i.Span.Off, left: i.Span.Len}, nil
}

// Close closes what the file was opened with, and returns what it holds to the account.
func (f *File) Close() error {
	defer f.letGo()
	if f.Closer == nil {
		return nil
	}
	return f.Closer.Close()
}

// Readable returns an error if the tensor has an unknown type.
func Readable(format string, i *Info) error {
	if i.DType != Unknown {
		return nil
	}
	return wire.At(format, "tensor "+wire.Quote(i.Name), i.Span.Off,
		wire.ErrUnsupported.WithRule("tensor.type-unknown").Errorf("type %s is not known here", wire.Quote(i.Stored)))
}

// A body reads a span in order. If the file has become shorter, the error is
// ErrTruncated, not io.EOF.
type body struct {
	r      io.ReaderAt
	b      *limits.Budget
	format string
	name   string
	off    int64
	left   int64
}

func (r *body) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	if err := r.b.Err(); err != nil {
		return 0, err
	}
	p = p[:min(int64(len(p)), r.left)]
	if err := wire.ReadFull(r.r, p, r.off); err != nil {
		return 0, wire.At(r.format, "tensor "+wire.Quote(r.name), r.off, err)
	}
	r.off += int64(len(p))
	r.left -= int64(len(p))
	return len(p), nil
}

func (r *body) Close() error { return nil }

// noFiles is an empty file system.
type noFiles struct{}

func (noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
