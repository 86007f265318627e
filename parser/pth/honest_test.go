package pth_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Each honest file charges what testdata/charges.txt says, and ends with each charge or read that fails.
func TestHonestFilesChargeWhatIsWritten(t *testing.T) {
	corpustest.Accepted(t, "pth", 60, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		f, err := pth.Decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return f.Verify, nil
	}, modelOf)
}

// modelOf reads a model.
func modelOf(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	return pth.Decode(b, r, size)
}
