package ggml_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/ggml"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// decode returns how every tensor of a model is read.
func decode(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
	f, err := ggml.Decode(b, r, size)
	if err != nil {
		return nil, err
	}
	return func(b *limits.Budget) error {
		for _, i := range f.Infos {
			r, err := f.Body(b, i)
			if err == nil {
				_, err = io.Copy(io.Discard, r)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// Honest models charge the same each time, and no charge or read that fails is ignored.
func TestHonestFilesChargeWhatIsWritten(t *testing.T) {
	corpustest.Accepted(t, "ggml", 2, decode, modelOf)
}

// Each recipe is refused with its class at its offset, however few bytes a read returns.
func TestHostileModelsAreRefused(t *testing.T) { corpustest.Refused(t, "ggml", 36, decode) }

// modelOf reads a model.
func modelOf(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	return ggml.Decode(b, r, size)
}
