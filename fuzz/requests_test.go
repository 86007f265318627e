package fuzz_test

import (
	"io"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// Some folders of the corpus hold files that are read, but not all that is asked of them is
// possible: to write them in a format that cannot hold them, or to decode a type that is not
// known.

// asked decodes a file of any format, and asks something of its model.
func asked(ask func(*limits.Budget, tensor.Model) error) func(*limits.Budget, io.ReaderAt, int64) (opened, error) {
	return func(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
		m, err := parser.Decode(b, r, size)
		if err != nil {
			return nil, err
		}
		defer m.Close()
		return nothing{}, ask(b, m)
	}
}

// eachAsNPY writes each tensor as a file of NumPy.
func eachAsNPY(b *limits.Budget, m tensor.Model) error {
	for i := range m.Tensors() {
		body, ok := m.At(i)
		if !ok {
			continue
		}
		if err := npy.Encode(b, io.Discard, &i, io.NewSectionReader(body, 0, i.Span.Len)); err != nil {
			return err
		}
	}
	return nil
}

// openAndRead reads every tensor, and every array of whole numbers in the metadata.
func openAndRead(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	return asked(func(b *limits.Budget, m tensor.Model) error {
		for i := range m.Tensors() {
			body, err := m.Body(b, i)
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, body); err != nil {
				return err
			}
			if err := body.Close(); err != nil {
				return err
			}
		}
		for _, v := range m.Meta() {
			if a, ok := v.(gguf.Array); ok {
				for _, err := range a.Ints(b) {
					if err != nil {
						return err
					}
				}
			}
		}
		return nil
	})(b, r, size)
}

// openScanned scans the pickles of a file by themselves.
func openScanned(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	return nothing{}, pth.Scan(b, r, size).Err
}

// openStored opens an archive for a format without deflated members.
func openStored(b *limits.Budget, r io.ReaderAt, size int64) (opened, error) {
	_, err := zip.Decode(b, r, size, zip.Options{StoredOnly: true})
	return nothing{}, err
}
