package keras

import (
	"errors"
	"io"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/hdf5"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// Format is the name of the format in errors.
const Format = "keras"

// Weights is the member with the weights.
const Weights = "model.weights.h5"

// The other members that Keras opens; it writes assets too, if a layer has any.
const (
	metadata = "metadata.json"
	config   = "config.json"
)

// The rules by which a file is refused.
var (
	errMember   = wire.ErrMissing.WithRule("keras.member")
	errDeflated = wire.ErrUnsupported.WithRule("keras.deflated")
)

// Decode reads the directory of the archive in r, which holds size bytes, and the structure of
// its weights.
func Decode(b *limits.Budget, r io.ReaderAt, size int64) (*File, error) {
	return DecodeListed(b, r, size, nil)
}

// DecodeListed is [Decode] for an archive whose directory was read.
func DecodeListed(b *limits.Budget, r io.ReaderAt, size int64, directory *zip.Listing) (*File, error) {
	b.Source(size)
	opts := zip.Options{Format: Format}
	var a *zip.Archive
	var err error
	if directory == nil {
		a, err = zip.Decode(b, r, size, opts)
	} else {
		a, err = directory.Decode(b, r, opts)
	}
	if err != nil {
		return nil, err
	}
	f := &File{File: tensor.File{Name: Format, Source: r}, archive: a}
	m, err := f.member(b)
	if err == nil {
		err = f.open(b, m)
	}
	if err == nil {
		err = f.sized(b)
	}
	if err != nil {
		return nil, wire.At(Format, "", wire.NoOffset, err)
	}
	return f, nil
}

// member returns the weights, if all that Keras opens is there. No name appears twice in an
// archive.
func (f *File) member(b *limits.Budget) (weights *zip.Member, err error) {
	found := map[string]bool{}
	steps := b.Steps()
	for i := range f.archive.Members {
		if err := steps.Step(); err != nil {
			return nil, err
		}
		switch m := &f.archive.Members[i]; m.Name {
		case Weights:
			weights = m
			fallthrough
		case metadata, config:
			found[m.Name] = true
		}
	}
	for _, name := range [...]string{metadata, config, Weights} {
		if !found[name] {
			return nil, errMember.Errorf("an archive of Keras has %s, %s and %s, and this one has no %s", metadata, config, Weights, name)
		}
	}
	return weights, nil
}

// open decodes the weights, and places their tensors in the archive.
func (f *File) open(b *limits.Budget, m *zip.Member) (err error) {
	f.where, f.at = "member "+wire.Quote(m.Name), m.DataOff
	if m.Method != zip.Store {
		return wire.At(Format, f.where, m.DataOff, errDeflated.Errorf("the weights are deflated, and Keras stores them: unpack the archive, and read %s itself", Weights))
	}
	f.weights, err = hdf5.Decode(b, io.NewSectionReader(f.Source, m.DataOff, m.Size), m.Size)
	if err != nil {
		return f.placed(err)
	}
	if f.Infos, err = limits.Clone(b, f.weights.Infos); err != nil {
		return err
	}
	for i := range f.Infos {
		f.Infos[i].Span.Off += m.DataOff
	}
	return nil
}

// A File is an archive whose weights have been proven.
type File struct {
	tensor.File

	archive *zip.Archive
	weights *hdf5.File
	where   string // of the weights, for messages
	at      int64  // where they begin
}

// Container returns the archive.
func (f *File) Container() *zip.Archive { return f.archive }

// placed gives an error about the weights its place in the archive.
func (f *File) placed(err error) error {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return wire.At(Format, f.where, f.at, err)
	}
	where, off := f.where, e.Off
	if e.Where != "" {
		where += ": " + e.Where
	}
	if off >= 0 {
		off += f.at
	}
	return &wire.Error{Format: Format, Where: where, Off: off, Err: e.Err}
}

// Meta lists the attributes of the root of the weights that are one text or number.
func (f *File) Meta() iter.Seq2[string, any] { return f.weights.Meta() }

// inside returns a tensor as package hdf5 knows it.
func (f *File) inside(i tensor.Info) tensor.Info {
	i.Span.Off -= f.at
	return i
}

// At returns random access to data in one piece.
func (f *File) At(i tensor.Info) (io.ReaderAt, bool) { return f.weights.At(f.inside(i)) }

// Body reads a weight in order, whatever it is stored as.
func (f *File) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	r, err := f.weights.Body(b, f.inside(i))
	if err != nil {
		return nil, f.placed(err)
	}
	return &body{r, f}, nil
}

// Verify reads every member: CRC and real lengths; and the chunks of the weights.
func (f *File) Verify(b *limits.Budget) error {
	if err := f.archive.Verify(b); err != nil {
		return err
	}
	if err := f.weights.Verify(b); err != nil {
		return f.placed(err)
	}
	return nil
}

// A body is an open weight.
type body struct {
	io.ReadCloser

	of *File
}

func (r *body) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = r.of.placed(err)
	}
	return n, err
}
