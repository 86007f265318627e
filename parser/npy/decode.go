package npy

import (
	"fmt"
	"io"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

const format = "npy"

// Unnamed is the name of the one array of a file.
const Unnamed = "arr_0"

// A File is an array file whose header has been proven.
type File struct {
	tensor.File
	Header Header
}

// Decode reads the header of the array in r, which holds size bytes.
func Decode(b *limits.Budget, r io.ReaderAt, size int64) (*File, error) {
	b.Source(size)
	fail := func(off int64, cause error) error { return wire.At(format, "", off, cause) }
	h, err := NewReader(b, wire.ErrTruncated, fail).Read(&section{r, 0, size}, size)
	if err != nil {
		return nil, err
	}
	f := &File{File: tensor.File{Name: format, Source: r}, Header: h}
	if f.Infos, err = limits.Make[tensor.Info](b, 1); err != nil {
		return nil, fail(0, err)
	}
	if f.Infos[0], err = h.Info(b, Unnamed, h.Len); err != nil {
		return nil, fail(0, err)
	}
	if err := h.Charge(b); err != nil {
		return nil, fail(0, err)
	}
	if err := h.Report(b, &f.Found, format, "", 0); err != nil {
		return nil, err
	}
	return f, nil
}

// A section reads a file in order and always fills the buffer. A reader that returns
// nothing is an error.
type section struct {
	r         io.ReaderAt
	off, size int64
}

func (s *section) Read(p []byte) (int, error) {
	if s.off == s.size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), s.size-s.off)]
	if err := wire.ReadFull(s.r, p, s.off); err != nil {
		return 0, err
	}
	s.off += int64(len(p))
	return len(p), nil
}

// Fields lists the fields of a structured type, nil for any other.
func (f *File) Fields() []Field { return f.Header.Type.Fields }

// Meta lists the fields of a structured type, as [Fields].
func (f *File) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if fields := f.Fields(); fields != nil {
			yield(Unnamed+".fields", Fields(fields))
		}
	}
}

// Charge counts the array as one item that decodes to its own bytes.
func (h *Header) Charge(b *limits.Budget) error {
	if err := b.Items(1); err != nil {
		return err
	}
	return b.Expand(h.Bytes)
}

// Unusual reports whether [Header.Report] has something to add.
func (h *Header) Unusual() bool { return h.notes() != 0 }

func (h *Header) notes() note {
	notes := h.Type.note
	if h.python2 {
		notes |= notePython2
	}
	if h.Len > numpyHeader {
		notes |= noteLongHead
	}
	return notes
}

// Report adds findings about the array, which has the place where and off.
func (h *Header) Report(b *limits.Budget, found *tensor.Findings, format, where string, off int64) error {
	notes := h.notes()
	for _, t := range reports {
		if notes&t.note == 0 {
			continue
		}
		finding := tensor.Finding{Code: t.code, Severity: t.severity, Where: where, Off: off, Text: t.text}
		if t.note == noteUnknown {
			finding.Text = fmt.Sprintf(t.text, wire.Quote(h.Type.Descr))
		}
		if err := found.Add(b, format, finding); err != nil {
			return err
		}
	}
	return nil
}

var reports = [...]struct {
	note     note
	severity tensor.Severity
	code     string
	text     string
}{
	{noteBF16, tensor.Note, "npy.bf16-void", "type V2 is read as BF16, as ml_dtypes writes it; NumPy has no name for it"},
	{noteE5M2, tensor.Note, "npy.f8-e5m2", "type f1 is read as F8_E5M2, as ml_dtypes writes it; NumPy cannot load it"},
	{noteLost, tensor.Warning, "npy.type-lost", "type V1: ml_dtypes stores every type of one byte so, which one it was is lost"},
	{noteUnknown, tensor.Warning, "npy.type-unknown", "type %s is not one of NumPy's; it is listed and cannot be read"},
	{noteNative, tensor.Warning, "npy.native-order", "byte order '=' means the reader's own; read as little-endian"},
	{notePython2, tensor.Note, "npy.python2", "a number is written as Python 2 did"},
	{noteLongHead, tensor.Note, "npy.long-header", "numpy.load refuses a header of more than 10,000 characters unless max_header_size is raised"},
}
