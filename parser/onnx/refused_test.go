package onnx_test

import (
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
)

// Each recipe is refused with the class and at the place that it states.
func TestHostileRecipesAreRefusedWithClassAndPlace(t *testing.T) {
	corpustest.Refused(t, "onnx", 20, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		f, err := onnx.Decode(b, r, size)
		if err != nil {
			return nil, err
		}
		return f.Verify, nil
	})
}
