package keras_test

import (
	"errors"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/keras"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Honest archives charge the same each time, and no charge or read that fails is ignored.
func TestHonestFilesChargeWhatIsWritten(t *testing.T) {
	corpustest.Accepted(t, "keras", 4, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		f, err := keras.Decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return func(b *limits.Budget) error { return errors.Join(readAll(b, f), f.Verify(b)) }, nil
	}, modelOf)
}

// readAll reads every weight.
func readAll(b *limits.Budget, f *keras.File) error {
	for i := range f.Tensors() {
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

// modelOf reads a model.
func modelOf(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	return keras.Decode(b, r, size)
}
