package onnx_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Each honest file charges what testdata/charges.txt says, and ends with each charge or read that fails.
func TestHonestFilesChargeWhatIsWritten(t *testing.T) {
	corpustest.Accepted(t, "onnx", 3, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		f, err := onnx.Decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return f.Verify, nil
	}, modelOf)
}

// modelOf reads a model.
func modelOf(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	return onnx.Decode(b, r, size)
}
