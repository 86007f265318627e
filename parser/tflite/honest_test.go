package tflite_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/tflite"
)

// Honest models charge the same each time, and no charge or read that fails is ignored.
func TestHonestFilesChargeWhatIsWritten(t *testing.T) {
	corpustest.Accepted(t, "tflite", 4, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		f, err := tflite.Decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return func(b *limits.Budget) error { return readAll(b, f) }, nil
	}, modelOf)
}

// readAll reads every tensor with numbers.
func readAll(b *limits.Budget, f *tflite.File) error {
	for i := range f.Tensors() {
		if i.DType == tensor.Unknown {
			continue
		}
		body, err := f.Body(b, i)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, body)
		body.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Each recipe is refused with its class at its offset, however few bytes a read returns.
func TestHostileModelsAreRefused(t *testing.T) {
	corpustest.Refused(t, "tflite", 40, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		f, err := tflite.Decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return func(b *limits.Budget) error { return readAll(b, f) }, nil
	})
}

// modelOf reads a model.
func modelOf(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	return tflite.Decode(b, r, size)
}
