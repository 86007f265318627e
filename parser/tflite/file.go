package tflite

import (
	"cmp"
	"io"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/narrow"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// A File is a model whose structure has been proven.
type File struct {
	tensor.File

	description string
	entries     []entry // of the tensors, in their order
	index       *wire.NameSet
	packed      *zip.Archive
}

// An entry is what the file has of a tensor.
type entry struct {
	at    int64       // of its description
	span  tensor.Span // of its data, as they are stored
	bits  uint        // of an element, where several are in a byte; else 0
	coded *coded      // where its numbers are codes
}

// coded says how codes are read.
type coded struct {
	scales, zeros string // tensors
	axis          int64
	why           string // they are not decoded, or ""
}

func compareSpans(x, y tensor.Span) int {
	return cmp.Or(cmp.Compare(x.Off, y.Off), cmp.Compare(x.Len, y.Len))
}

// Meta has the model's description of itself, if it has one.
func (f *File) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if f.description != "" {
			yield("tflite.model_description", f.description)
		}
	}
}

// Quantized says how the codes of a tensor are read: a number is the code less the zero point,
// times the scale, of the whole tensor or of an index of an axis.
func (f *File) Quantized(name string) (tensor.Quantized, bool) {
	k, ok := f.index.Find(name)
	if !ok || f.entries[k].coded == nil {
		return tensor.Quantized{}, false
	}
	c := f.entries[k].coded
	return tensor.Quantized{Operator: "DEQUANTIZE", Of: Format, Scales: c.scales, Zeros: c.zeros, Axis: c.axis, Why: c.why}, true
}

// entry returns what the file has of a tensor, or nil.
func (f *File) entry(i *tensor.Info) *entry {
	if k, ok := f.index.Find(i.Name); ok {
		return &f.entries[k]
	}
	return nil
}

// At returns random access to data that are stored as they are read.
func (f *File) At(i tensor.Info) (io.ReaderAt, bool) {
	e := f.entry(&i)
	if e == nil || e.bits > 0 {
		return nil, false
	}
	return f.File.At(i)
}

// Body reads a tensor in order, one number a byte where it has less than a byte for each.
func (f *File) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	e := f.entry(&i)
	if e == nil || e.bits == 0 {
		return f.File.Body(b, i)
	}
	where := "tensor " + wire.Quote(i.Name)
	held := b.Holding()
	stored := i
	stored.Span = e.span
	r, err := f.File.Body(held, stored)
	if err == nil {
		var numbers io.Reader
		if numbers, err = narrow.NewReader(held, r, e.bits, i.DType == tensor.I8, i.Span.Len); err == nil {
			return &narrow.Body{Reader: numbers, Held: held, Format: Format, Where: where}, nil
		}
	}
	held.Close()
	return nil, wire.At(Format, where, e.at, err)
}
