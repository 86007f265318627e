package hdf5_test

import (
	"errors"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/hdf5"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Each honest file charges what testdata/charges.txt says, and ends with each charge or read that fails.
func TestHonestFilesChargeWhatIsWritten(t *testing.T) {
	corpustest.Accepted(t, "hdf5", 8, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		f, err := hdf5.Decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return func(b *limits.Budget) error { return bodies(b, f) }, nil
	}, modelOf)
}

// bodies reads all datasets that can be read.
func bodies(b *limits.Budget, f *hdf5.File) error {
	for i := range f.Tensors() {
		body, err := f.Body(b, i)
		if errors.Is(err, wire.ErrUnsupported) {
			continue // some are listed, and not read
		} else if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, body)
		if err = errors.Join(err, body.Close()); err != nil {
			return err
		}
	}
	return f.Verify(b)
}

// modelOf reads a model.
func modelOf(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	return hdf5.Decode(b, r, size)
}
